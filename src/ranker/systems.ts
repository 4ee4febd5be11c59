/** The four retrieval systems of the study, as the agent's search function. */
import type { Config } from "../config.ts";
import type { Sampler } from "../engine/engine.ts";
import type { Renderer } from "../engine/renderer.ts";
import { ConfigError } from "../errors.ts";
import { lockStep } from "../retrieval/lock-step.ts";
import type { Retriever } from "../retrieval/retriever.ts";
import type { Search } from "../retrieval/search.ts";
import { oracleSearch, retrievalOnlySearch } from "./baselines.ts";
import { type RankerProtocol, rankerProtocol } from "./prompt.ts";
import { rankerSearch } from "./rank.ts";

/** What a retrieval system is made of. */
export interface SystemParts {
  /** Wrap it with `batchedRetriever` where many trajectories run at once. */
  readonly retriever: Retriever;
  /** Needed by fixed-ranker and cosearch. */
  readonly ranker?: { readonly sampler: Sampler; readonly protocol: RankerProtocol };
}

/**
 * The search function of `config.system`. CoSearch's ranker samples while it trains (GRPO compares different outputs) and is greedy in
 * evaluation; the Fixed Ranker is greedy in both. Searches made at the same moment return together (see `lockStep`).
 * @throws ConfigError when the system needs a ranker and none is given.
 */
export function createSearch(config: Config, parts: SystemParts, mode: "training" | "evaluation"): Search {
  return lockStep(systemSearch(config, parts, mode));
}

function systemSearch(config: Config, parts: SystemParts, mode: "training" | "evaluation"): Search {
  const { retriever } = parts;
  const { topK } = config.ranker;
  const { candidates } = config.retrieval;
  switch (config.system) {
    case "retrieval-only":
      return retrievalOnlySearch({ retriever, candidates, topK });
    case "oracle":
      return oracleSearch({ retriever, candidates, topK });
    case "fixed-ranker":
    case "cosearch": {
      if (!parts.ranker) throw new ConfigError(`system ${config.system} needs a ranker: set ranker.model to a model folder`);
      const sampled = config.system === "cosearch" && mode === "training";
      return rankerSearch({
        retriever,
        sampler: parts.ranker.sampler,
        protocol: parts.ranker.protocol,
        candidates,
        topK,
        maxTokens: config.ranker.maxTokens,
        temperature: sampled ? config.ranker.temperature : 0,
        topP: sampled ? config.ranker.topP : 1,
      });
    }
  }
}

/**
 * The ranker protocol that the configuration asks for.
 * @param contextTokens Longest sequence of the model, output included: passages are cut so that there is room for `ranker.maxTokens`.
 * @throws ConfigError when its grammar doesn't fit the vocabulary.
 */
export function rankerProtocolFor(config: Config, renderer: Renderer, contextTokens?: number): RankerProtocol {
  const { prompt, grammar, passageCharacters, topK, maxTokens } = config.ranker;
  const { candidates } = config.retrieval;
  const limit = contextTokens === undefined ? {} : { maxPromptTokens: contextTokens - maxTokens };
  return rankerProtocol(renderer, { prompt, grammar, passageCharacters, topK, candidates, ...limit });
}
