import type { Question, SearchStep } from "../types.ts";

/** One sub-query of one trajectory. */
export interface SearchRequest {
  readonly question: Question;
  readonly trajectoryIndex: number;
  readonly turnIndex: number;
  readonly query: string;
  /** The stream of anything sampled while serving this request (the ranker's output). */
  readonly seed: number;
  readonly signal?: AbortSignal;
}

/**
 * The agent's only view of retrieval. Retrieval Only, Fixed Ranker, CoSearch and Oracle are four such functions.
 * @throws InfrastructureError when a service failed for good.
 */
export type Search = (request: SearchRequest) => Promise<SearchStep>;
