/** From a configuration to what training and evaluation are made of: the one place that names a concrete engine. */

import { agentProtocolFor } from "../agent/agent-protocol.ts";
import type { AgentProtocol } from "../agent/protocol.ts";
import { type Config, hasRanker } from "../config.ts";
import { loadRenderer } from "../engine/hf-renderer.ts";
import { ModelError } from "../errors.ts";
import { evenlySpaced } from "../evenly-spaced.ts";
import { createSearch, rankerProtocolFor } from "../ranker/systems.ts";
import { batchedRetriever } from "../retrieval/batched-retriever.ts";
import { corpusPaths, loadCorpus } from "../retrieval/corpus/corpus.ts";
import { createRetriever } from "../retrieval/create-retriever.ts";
import type { Search } from "../retrieval/search.ts";
import { type Checkpoint, loadCheckpoint } from "../training/checkpoint.ts";
import { loadQuestions } from "../training/dataset.ts";
import { fingerprint } from "../training/fingerprint.ts";
import type { PolicyWiring, Wiring } from "../training/wiring.ts";

/** A wired run; `close` ends its engines. */
export interface OpenWiring {
  readonly wiring: Wiring;
  close(): Promise<void>;
}

/** What the wiring is for: training needs reference engines and questions, answering needs neither. */
export type Purpose = "training" | "answering";

/**
 * Loads data, models and index.
 * @throws DataError, ModelError, ConfigError for anything that can't be used; engines already made are closed.
 */
export async function openWiring(config: Config, purpose: Purpose): Promise<OpenWiring> {
  // Loaded late: help and error messages need no native library.
  const { createEmbeddedEngine } = await import("../engine/embedded/embedded-engine.ts");
  const engines: { close(): Promise<void> }[] = [];
  const close = async () => {
    await Promise.all(engines.map((engine) => engine.close()));
  };
  const policy = async (modelFolder: string, field: string, trains: boolean): Promise<PolicyWiring> => {
    const { threads, microBatchTokens, execution, prefixCacheMegabytes } = config.engine;
    const open = async () => {
      const engine = await createEmbeddedEngine({ modelFolder, threads, microBatchTokens, execution, prefixCacheMegabytes });
      engines.push(engine);
      return engine;
    };
    try {
      const renderer = await loadRenderer(modelFolder);
      const engine = await open();
      const needsReference = trains && purpose === "training" && config.grpo.klCoefficient > 0;
      return { engine, renderer, ...(needsReference ? { reference: await open() } : {}) };
    } catch (error) {
      if (error instanceof ModelError) throw new ModelError(`${field}: ${error.message}`, { cause: error });
      throw error;
    }
  };
  try {
    const [trainQuestions, devQuestions] =
      purpose === "training"
        ? [await loadQuestions(config.data.train), config.data.dev === undefined ? [] : await loadQuestions(config.data.dev)]
        : [[], []];
    const retriever = await createRetriever(config.retrieval, await loadCorpus(corpusPaths(config.retrieval)));
    const main = await policy(config.agent.model, "agent.model", true);
    const ranker =
      hasRanker(config.system) && config.ranker.model !== undefined
        ? await policy(config.ranker.model, "ranker.model", config.system === "cosearch")
        : undefined;
    return {
      wiring: {
        main,
        ...(ranker ? { ranker } : {}),
        retriever,
        trainQuestions,
        devQuestions: evenlySpaced(devQuestions, config.training.devQuestions),
        inputs: purpose === "training" ? await fingerprints(config) : {},
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Every file and folder that a run reads, by configuration field. */
export function inputPaths(config: Config): [field: string, path: string][] {
  const corpora = corpusPaths(config.retrieval);
  const inputs: Record<string, string | undefined> = {
    "data.train": config.data.train,
    "data.dev": config.data.dev,
    "data.test": config.data.test,
    ...Object.fromEntries(corpora.map((path, index) => [`retrieval.corpus${corpora.length > 1 ? `[${index}]` : ""}`, path])),
    "agent.model": config.agent.model,
    "ranker.model": hasRanker(config.system) ? config.ranker.model : undefined,
  };
  return Object.entries(inputs).flatMap(([field, path]): [string, string][] => (path === undefined ? [] : [[field, path]]));
}

/** SHA-256 of every input of a run, by configuration field. */
export async function fingerprints(config: Config): Promise<Record<string, string>> {
  const entries = inputPaths(config).map(async ([field, path]) => [field, await fingerprint(path)] as const);
  return Object.fromEntries(await Promise.all(entries));
}

/** How a wired system answers: greedy, through the search function that training used. */
export function answeringParts(config: Config, wiring: Wiring): { readonly protocol: AgentProtocol; readonly search: Search } {
  const { main, ranker, retriever } = wiring;
  const rankerPart = ranker && { sampler: ranker.engine, protocol: rankerProtocolFor(config, ranker.renderer) };
  return {
    protocol: agentProtocolFor(config, main.renderer),
    search: createSearch(config, { retriever: batchedRetriever(retriever), ...(rankerPart ? { ranker: rankerPart } : {}) }, "evaluation"),
  };
}

/** Puts a checkpoint's weights (none: the initial ones) where `sample` uses them. */
export async function publishCheckpoint(config: Config, wiring: Wiring, checkpoint?: Checkpoint): Promise<void> {
  const ranker = config.system === "cosearch" ? wiring.ranker?.engine : undefined;
  if (checkpoint) await loadCheckpoint(checkpoint, { main: wiring.main.engine, ...(ranker ? { ranker } : {}) });
  await Promise.all([wiring.main.engine.publish(), wiring.ranker?.engine.publish()]);
}
