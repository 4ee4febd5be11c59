/** One retrieval step with a generative ranker (Alg. 1). */

import type { Sampler } from "../engine/engine.ts";
import { InfrastructureError, PromptTooLongError } from "../errors.ts";
import type { Retriever } from "../retrieval/retriever.ts";
import type { Search } from "../retrieval/search.ts";
import { deriveSeed } from "../rng.ts";
import type { RankerCall } from "../types.ts";
import type { RankerProtocol } from "./prompt.ts";

/** A retriever, a ranker and their sizes. */
export interface RankerSearchOptions {
  readonly retriever: Retriever;
  readonly sampler: Sampler;
  readonly protocol: RankerProtocol;
  /** N: candidates retrieved. */
  readonly candidates: number;
  /** K: documents shown. */
  readonly topK: number;
  /** Most tokens in a ranker output. */
  readonly maxTokens: number;
  /** 0 = greedy. */
  readonly temperature: number;
  readonly topP: number;
}

/** Alg. 1: retrieve N, let the ranker choose K. A malformed output leaves the retriever's top K; the call is recorded either way. */
export function rankerSearch(options: RankerSearchOptions): Search {
  const { retriever, sampler, protocol } = options;
  return async ({ question, trajectoryIndex, turnIndex, query, seed, signal }) => {
    const [candidates = []] = await retriever.search([query], options.candidates);
    if (candidates.length === 0) return { query, candidates, observation: [] };
    const { tokenIds: promptTokenIds, cutPassages } = protocol.prompt(question.question, query, candidates);
    const grammar = protocol.grammar(candidates.length);
    const sampling = sampler.sample({
      promptTokenIds,
      maxTokens: options.maxTokens,
      temperature: options.temperature,
      topP: options.topP,
      stop: protocol.stop,
      seed: deriveSeed(seed, "ranker"),
      ...(grammar ? { grammar } : {}),
      ...(signal ? { signal } : {}),
    });
    const [output] = await sampling.catch((error: unknown) => {
      throw error instanceof PromptTooLongError ? tooLong(query, candidates.length, error) : error;
    });
    if (!output) throw new Error("the sampler returned no output for a request of one");
    const ranking = protocol.parse(output.text, candidates.length);
    const ranks = ranking.kind === "ranked" ? ranking.candidateRanks : candidates.slice(0, options.topK).map((_, position) => position + 1);
    const observation = ranks.flatMap((rank) => candidates[rank - 1]?.document ?? []);
    const rankerCall: RankerCall = {
      questionId: question.id,
      trajectoryIndex,
      turnIndex,
      question: question.question,
      query,
      candidates,
      promptTokenIds,
      ...(cutPassages > 0 ? { cutPassages } : {}),
      output,
      ranking,
    };
    return { query, candidates, rankerCall, observation };
  };
}

/** Nothing was sampled, so there is nothing to punish or to train on: the trajectory is recorded as one that could not be served. */
function tooLong(query: string, candidates: number, cause: PromptTooLongError): InfrastructureError {
  return new InfrastructureError(
    `the ranker's prompt for ${JSON.stringify(query.slice(0, 80))} with ${candidates} candidates does not fit: ${cause.message}. Lower ranker.passageCharacters or retrieval.candidates`,
    { cause },
  );
}
