/** Exact vector search over a file of raw vectors: every row is compared, in a worker thread. */
import { availableParallelism } from "node:os";
import type { Metric } from "../../config.ts";
import { InfrastructureError } from "../../errors.ts";
import { startWorker } from "../../threads/start-worker.ts";
import { memoryLimit } from "../memory-limit.ts";
import { answerOf, ExactVectors } from "./exact-vectors-passes.ts";
import type { ExactWorkerData } from "./exact-vectors-protocol.ts";
import type { VectorIndex } from "./vector-index.ts";

export { openExactWriter } from "./exact-vectors-writer.ts";

/** How an exact index is opened. */
export interface ExactIndexOptions {
  readonly dimensions: number;
  readonly metric: Metric;
  /** Rows that the file should have, where that is known. */
  readonly rows?: number;
  /** Compute threads; all of the machine's when absent. */
  readonly threads?: number;
  /**
   * A file of at most this many bytes is held in memory; a larger one is read anew in every pass, with the memory of two blocks of 12 MiB,
   * the scores of one, and, for cosine and l2, 4 bytes a row. A quarter of the machine's memory when absent.
   */
  readonly memoryBytes?: number;
}

/** An exact index; tells whether its vectors are in memory or read from the disk in every pass. */
export interface ExactVectorIndex extends VectorIndex {
  readonly inMemory: boolean;
}

/**
 * Opens a file that `openExactWriter` wrote. Results are the truth: the `topK` rows of the highest scores, computed in double precision
 * in a fixed order, so that they are the same whatever else is searched for at the same time, on every machine. Queries of concurrent
 * searches share passes over the vectors.
 * @throws DataError naming the file when it is missing, of a wrong size, or (found when the rows are first read: here where they are
 * held in memory, else in the first search) holds a vector that is none.
 */
export async function openExactIndex(file: string, options: ExactIndexOptions): Promise<ExactVectorIndex> {
  const { dimensions, metric, rows, threads = availableParallelism(), memoryBytes = memoryLimit() / 4 } = options;
  const closed = new SharedArrayBuffer(4);
  const data: ExactWorkerData = { file, dimensions, metric, rows, threads, memoryBytes, closed };
  const worker = startWorker(import.meta.url, "exact-vectors-worker", data);
  try {
    const opened = await answerOf(worker);
    if (!("rows" in opened)) throw new InfrastructureError(`${file}: the search thread answered out of turn`);
    return new ExactVectors(worker, data, opened);
  } catch (error) {
    await worker.terminate();
    throw error;
  }
}
