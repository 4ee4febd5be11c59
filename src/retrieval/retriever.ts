import type { Candidate } from "../types.ts";

/** The first stage: a fixed retriever. Results are best first, `rank` from 1, at most `topK`. */
export interface Retriever {
  readonly name: string;
  /** @throws InfrastructureError when retrieval fails for good. */
  search(queries: readonly string[], topK: number): Promise<Candidate[][]>;
}
