import type { Document } from "../../types.ts";
import { documentText } from "../corpus/corpus.ts";
import type { DocumentStore } from "../corpus/document-store.ts";
import type { Embedder } from "../embedding/embedder.ts";
import { cosine } from "./cosine.ts";

/** A passage whose stored vector was compared with one embedded now. */
export interface ComparedPassage {
  readonly row: number;
  readonly id: string;
  /** Of the stored vector and the more alike of the two ways to write the passage down. */
  readonly cosine: number;
}

/** Vectors of one model and passage are at least so alike, whatever wrote the passage down and in which precision. */
export const leastCosine = 0.99;

/** `count` rows, evenly spaced from the first to the last. */
export function spotRows(rows: number, count: number): number[] {
  const taken = Math.min(rows, count);
  return Array.from({ length: taken }, (_, index) => Math.floor((index * (rows - 1)) / Math.max(1, taken - 1)));
}

/**
 * Embeds the passages of these rows and compares. Vectors made elsewhere may be of passages written down as Search-R1 does, so both ways are
 * tried.
 */
export async function compareWithStored(
  store: DocumentStore,
  embedder: Embedder,
  stored: ReadonlyMap<number, Float32Array>,
): Promise<ComparedPassage[]> {
  const rows = [...stored.keys()];
  const documents = await store.read(rows);
  const ours = await embedder.embedDocuments(documents.map(documentText));
  const quoted = await embedder.embedDocuments(documents.map(quotedTitleText));
  return rows.map((row, index) => {
    const vector = stored.get(row) as Float32Array;
    const cosines = [ours, quoted].map((vectors) => cosine(vector, vectors[index] as Float32Array));
    return { row, id: (documents[index] as Document).id, cosine: Math.max(...cosines) };
  });
}

/** How Search-R1 writes a passage down: the title in quotes, on a line of its own. */
function quotedTitleText({ title, text }: Document): string {
  return `"${title}"\n${text}`;
}

/** A line for each passage whose vectors are not alike. */
export function unlikeLines(compared: readonly ComparedPassage[]): string[] {
  return compared
    .filter(({ cosine: alike }) => !(alike >= leastCosine))
    .map(({ row, id, cosine: alike }) => `passage ${row + 1} (id ${id}): cosine ${alike.toFixed(4)}`);
}
