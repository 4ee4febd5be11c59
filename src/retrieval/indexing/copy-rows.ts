import type { Metric } from "../../config.ts";
import { DataError } from "../../errors.ts";
import type { VectorWriter } from "./vector-index.ts";

/** Vectors that were made elsewhere, in corpus order. */
export interface GivenVectors {
  readonly rows: number;
  readonly dimensions: number;
  readonly metric: Metric;
  /** Rows `from` up to `to`, without `to`, in blocks. */
  read(from: number, to: number): AsyncIterable<Float32Array>;
}

/**
 * Copies every row that the writer does not have yet.
 * @throws DataError naming the row of a vector that is no vector; the reader's and the writer's errors. Blocks done stay.
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
    const fault = block.findIndex((value) => !Number.isFinite(value));
    if (fault >= 0) {
      const row = writer.rows + Math.floor(fault / given.dimensions) + 1;
      throw new DataError(`vector ${row} holds values that are no numbers: make the index file again`);
    }
    await writer.append(block);
    onBlock?.(writer.rows);
  }
}
