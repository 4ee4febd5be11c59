import type { RetrievalConfig } from "../../config.ts";
import { DataError } from "../../errors.ts";
import type { Candidate } from "../../types.ts";
import type { DocumentStore } from "../corpus/document-store.ts";
import { cachedRetriever, type Retriever } from "../retriever.ts";
import { reciprocalRankFusion } from "./fusion.ts";
import type { IndexSettings } from "./index-settings.ts";
import type { IndexManifest } from "./manifest.ts";
import { type IndexParts, openIndexParts } from "./open-index-parts.ts";
import type { Hit } from "./vector-index.ts";

/** A searchable index folder. */
export interface OpenIndex extends Retriever {
  readonly manifest: IndexManifest;
  /** What it is opened as: the manifest's settings, with what the configuration may decide anew. */
  readonly settings: IndexSettings;
  close(): Promise<void>;
}

/** Finds rows for queries. */
type FindRows = (queries: readonly string[], topK: number) => Promise<Hit[][]>;

/**
 * Opens a finished index folder. What the configuration leaves out is as the manifest says; what it asks for must agree with it. Checked before
 * the first search: settings, embedder identity, dimensions, metric, counts, file sizes, format version, and that the texts are those the manifest was
 * written for by their recorded hashes (`verifyIndex` reads the texts themselves again).
 * @throws ConfigError naming both sides of a mismatch; RunFolderError where there is no finished index; DataError for missing or damaged files;
 * whatever the embedder throws.
 */
export async function openIndex(folder: string, config: RetrievalConfig): Promise<OpenIndex> {
  const parts = await openIndexParts(folder, config);
  const { manifest, settings, store, dense } = parts;
  const find = findRows(parts, config);
  const name = dense === undefined ? "bm25" : `${settings.kind}-${dense.embedder.name}`;
  const retriever = cachedRetriever(name, config.cacheSize, async (queries, topK) => candidates(store, await find(queries, topK)));
  return { ...retriever, manifest, settings, close: () => parts.close() };
}

/** One side alone, or both fused. */
function findRows({ dense, words }: IndexParts, { fusionDepth, fusionConstant }: RetrievalConfig): FindRows {
  const byMeaning: FindRows | undefined =
    dense && (async (queries, topK) => dense.vectors.search(await dense.embedder.embedQueries(queries), topK));
  const byWords: FindRows | undefined = words && ((queries, topK) => words.search(queries, topK));
  if (byMeaning === undefined || byWords === undefined) return (byMeaning ?? byWords) as FindRows;
  return async (queries, topK) => {
    const depth = Math.max(fusionDepth, topK);
    const [meaning, word] = await Promise.all([byMeaning(queries, depth), byWords(queries, depth)]);
    return queries.map((_, index) => reciprocalRankFusion([meaning[index] ?? [], word[index] ?? []], fusionConstant, topK));
  };
}

/** The documents of hits, every one read once. */
async function candidates(store: DocumentStore, found: readonly (readonly Hit[])[]): Promise<Candidate[][]> {
  const rows = [...new Set(found.flatMap((hits) => hits.map(({ row }) => row)))].sort((left, right) => left - right);
  const documents = await store.read(rows);
  const byRow = new Map(rows.map((row, index) => [row, documents[index]]));
  return found.map((hits) =>
    hits.map(({ row, score }, index) => {
      const document = byRow.get(row);
      if (document === undefined) throw new DataError(`document ${row + 1} of the index can't be read: run  cosearch index verify`);
      return { document, score, rank: index + 1 };
    }),
  );
}
