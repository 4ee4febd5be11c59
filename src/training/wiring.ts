/** What a run is made of, built by the command line from the configuration. Training knows contracts only. */
import type { TrainableEngine } from "../engine/engine.ts";
import type { Renderer } from "../engine/renderer.ts";
import type { Retriever } from "../retrieval/retriever.ts";
import type { Question } from "../types.ts";

/** One model. */
export interface PolicyWiring {
  readonly engine: TrainableEngine;
  readonly renderer: Renderer;
  /** A frozen engine with the initial weights; needed where grpo.klCoefficient > 0 and the policy trains. */
  readonly reference?: Pick<TrainableEngine, "logprobs">;
  /** Longest sequence that the model takes, in tokens; absent: not known here. */
  readonly contextTokens?: number;
}

/** Models, retriever and data of a run. */
export interface Wiring {
  readonly main: PolicyWiring;
  /** Needed by fixed-ranker (sampled only) and cosearch (trained). */
  readonly ranker?: PolicyWiring;
  readonly retriever: Retriever;
  readonly trainQuestions: readonly Question[];
  /** Questions of the dev evaluations, already thinned out to `training.devQuestions`; empty where there are none. */
  readonly devQuestions: readonly Question[];
  /** SHA-256 of every input, by configuration field (see `fingerprint`); a resumed run must find the same. */
  readonly inputs: Readonly<Record<string, string>>;
}

/** Whether agent and ranker are one policy: the same engine, trained by both. */
export function sharesBackbone({ main, ranker }: Pick<Wiring, "main" | "ranker">): boolean {
  return ranker?.engine === main.engine;
}
