import type { Metric } from "../../config.ts";
import type { VectorWriter } from "./vector-index.ts";

/** Vectors that were made elsewhere, in corpus order. */
export interface GivenVectors {
  readonly rows: number;
  readonly dimensions: number;
  readonly metric: Metric;
  /** Rows `from` up to `to`, without `to`, in blocks. @throws DataError naming the row of a vector that is none. */
  read(from: number, to: number): AsyncIterable<Float32Array>;
}

/**
 * Copies every row that the writer does not have yet.
 * @throws the reader's and the writer's errors. Blocks done stay.
 */
export async function copyRows(options: {
  readonly writer: VectorWriter;
  readonly given: GivenVectors;
  readonly onBlock?: (rows: number) => void;
  readonly signal?: AbortSignal | undefined;
}): Promise<void> {
  const { writer, given, onBlock, signal } = options;
  if (writer.rows >= given.rows) return;
  for await (const block of given.read(writer.rows, given.rows)) {
    signal?.throwIfAborted();
    await writer.append(block);
    onBlock?.(writer.rows);
  }
}
