import type { Metric } from "../../config.ts";

/** One search result: the document's row (its position in the corpus, from 0) and its score, higher being better. */
export interface Hit {
  readonly row: number;
  readonly score: number;
}

/**
 * A searchable set of vectors, one a document, in corpus order. Scores: the inner product, the cosine, or minus the squared Euclidean distance
 * (`l2`). Results are best first, equal scores in row order, at most `topK`, fewer only when there are fewer rows (approximate
 * indexes may find fewer).
 */
export interface VectorIndex {
  readonly rows: number;
  readonly dimensions: number;
  readonly metric: Metric;
  /** @throws InfrastructureError when the storage failed for good. */
  search(queries: readonly Float32Array[], topK: number): Promise<Hit[][]>;
  close(): Promise<void>;
}

/**
 * Fills a vector index. A writer opened on a folder in which one was killed goes on at `rows`: everything before it is durable, everything
 * after it is gone.
 */
export interface VectorWriter {
  /** Rows that are durably written. */
  readonly rows: number;
  /** Adds rows (`vectors.length / dimensions` of them), all or none; durable when the promise resolves. */
  append(vectors: Float32Array): Promise<void>;
  /** Builds whatever search needs besides the rows; may be called again after a kill. */
  finish(onProgress?: (done: number, total: number) => void): Promise<void>;
  close(): Promise<void>;
}

/** A searchable set of texts; see {@link VectorIndex} for the order of results. Documents that share no word with the query are not found. */
export interface TextIndex {
  readonly rows: number;
  search(queries: readonly string[], topK: number): Promise<Hit[][]>;
  close(): Promise<void>;
}
