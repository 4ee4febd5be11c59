import { DataError } from "../../errors.ts";
import type { Embedder } from "../embedding/embedder.ts";
import type { VectorWriter } from "./vector-index.ts";

/** Rows that are embedded and written together. Blocks always begin at multiples of it, so that a resumed build makes the same calls. */
export const blockRows = 1024;

/** What `embedRows` fills, and from what. */
export interface EmbedRowsOptions {
  readonly writer: VectorWriter;
  readonly embedder: Embedder;
  /** Rows in all. */
  readonly rows: number;
  /** The texts of rows `from` up to `to`, without `to`. */
  readonly texts: (from: number, to: number) => Promise<readonly string[]>;
  /** Called after every block with the rows that are written. */
  readonly onBlock?: (rows: number) => void;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Embeds every row that the writer does not have yet.
 * @throws DataError naming the row of a vector that is no vector; the embedder's and the writer's errors. Blocks done stay.
 */
export async function embedRows({ writer, embedder, rows, texts, onBlock, signal }: EmbedRowsOptions): Promise<void> {
  while (writer.rows < rows) {
    signal?.throwIfAborted();
    const from = Math.floor(writer.rows / blockRows) * blockRows;
    const to = Math.min(rows, from + blockRows);
    const vectors = await embedder.embedDocuments(await texts(from, to), signal);
    if (vectors.length !== to - from) {
      throw new DataError(`${embedder.name} made ${vectors.length} vectors of documents ${from + 1} to ${to}: check the model`);
    }
    await writer.append(flattened(vectors, from, writer.rows, embedder));
    onBlock?.(writer.rows);
  }
}

/** The vectors of rows `begin` and up, one after the other; `from` is the row of the first vector. */
function flattened(vectors: readonly Float32Array[], from: number, begin: number, { dimensions, name }: Embedder): Float32Array {
  const flat = new Float32Array((vectors.length - (begin - from)) * dimensions);
  vectors.slice(begin - from).forEach((vector, index) => {
    const sum = vector.reduce((total, value) => total + value, 0);
    if (vector.length !== dimensions || !Number.isFinite(sum)) {
      const fault =
        vector.length === dimensions ? "holds values that are no numbers" : `has ${vector.length} dimensions, not ${dimensions}`;
      throw new DataError(`the vector that ${name} made of document ${begin + index + 1} ${fault}: check the model`);
    }
    flat.set(vector, index * dimensions);
  });
  return flat;
}
