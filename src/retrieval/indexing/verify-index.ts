import { createHash } from "node:crypto";
import { join } from "node:path";
import type { RetrievalConfig } from "../../config.ts";
import { DataError } from "../../errors.ts";
import { documentText } from "../corpus/corpus.ts";
import type { BuildEvent } from "./build-progress.ts";
import { rowProgress } from "./build-vectors.ts";
import { blockRows } from "./embed-rows.ts";
import { indexFiles } from "./index-folder.ts";
import { type IndexParts, openIndexParts } from "./open-index-parts.ts";
import { compareWithStored, leastCosine, spotRows, unlikeLines } from "./spot-check.ts";
import { StoredVectors, type VectorBlock } from "./stored-vectors.ts";
import type { Hit } from "./vector-index.ts";

/** How thoroughly, and who hears of it. */
export interface VerifyIndexOptions {
  /** Passages, evenly spaced, that are embedded and looked for again. Default 32. */
  readonly sample?: number;
  readonly onEvent?: (event: BuildEvent) => void;
  readonly signal?: AbortSignal;
}

/** One thing that is as it should be. */
export interface VerifiedPart {
  readonly name: "files" | "documents" | "vectors" | "BM25" | "sample";
  /** What was looked at. */
  readonly found: string;
}

/** A passage is looked for among so many results: copies of it may come first. */
const searchedDepth = 20;
/** Share of the passages that must be found: more copies, and neighbours that an approximate index takes for nearer, may hide some. */
const leastFound = 0.9;

/**
 * Reads all of an index again: manifest, file sizes, every document and its hashes, every vector, BM25, and a sample of passages that must be found by
 * their own vectors and words.
 * @throws the first damage: DataError naming file and row, ConfigError naming both sides of what doesn't agree.
 */
export async function verifyIndex(folder: string, config: RetrievalConfig, options: VerifyIndexOptions = {}): Promise<VerifiedPart[]> {
  const parts = await openIndexParts(folder, config);
  try {
    const { manifest, store, dense, words } = parts;
    const files = Object.keys(manifest.files).length;
    const found: VerifiedPart[] = [{ name: "files", found: `${files} of the sizes that the manifest says` }];
    await verifyDocuments(folder, parts, options);
    found.push({ name: "documents", found: `${store.count.toLocaleString("en")}, their ids and texts by their hashes` });
    const rows = spotRows(store.count, options.sample ?? 32);
    const stored = new Map<number, Float32Array>();
    if (dense) found.push({ name: "vectors", found: await verifyVectors(folder, parts, options, { rows, stored }) });
    if (words) found.push({ name: "BM25", found: `of ${words.rows.toLocaleString("en")} documents` });
    if (rows.length > 0) found.push({ name: "sample", found: await verifySample(folder, parts, rows, stored) });
    return found;
  } finally {
    await parts.close();
  }
}

async function verifyDocuments(folder: string, { store }: IndexParts, { onEvent, signal }: VerifyIndexOptions): Promise<void> {
  const ids = createHash("sha256");
  const texts = createHash("sha256");
  const tell = rowProgress("checking documents", store.count, (event) => onEvent?.(event));
  for (let from = 0; from < store.count; from += blockRows) {
    signal?.throwIfAborted();
    const to = Math.min(store.count, from + blockRows);
    for (const { id, title, text } of await store.range(from, to)) {
      ids.update(`${JSON.stringify(id)}\n`);
      texts.update(`${JSON.stringify({ id, title, text })}\n`);
    }
    tell(to);
  }
  const compare = (what: string, stated: string, found: string) => {
    if (stated === found) return;
    throw new DataError(
      `${what} have been changed (SHA-256 ${found}, the manifest has ${stated}): restore the folder, or build the index again with --fresh`,
      {
        file: join(folder, indexFiles.documents),
      },
    );
  };
  compare("the ids or their order", store.idsSha256, ids.digest("hex"));
  compare("the documents", store.documentsSha256, texts.digest("hex"));
}

/** Every vector of an exact index, those of the sample kept; LanceDB checks what it reads by itself. */
async function verifyVectors(
  folder: string,
  { settings, dense, store }: IndexParts,
  options: VerifyIndexOptions,
  sample: { readonly rows: readonly number[]; readonly stored: Map<number, Float32Array> },
): Promise<string> {
  if (dense === undefined) return "none";
  const { rows, dimensions, metric } = dense.vectors;
  const told = `${rows.toLocaleString("en")} of ${dimensions} dimensions (${settings.vectors?.kind}, ${metric})`;
  if (settings.vectors?.kind !== "exact") return told;
  const tell = rowProgress("checking vectors", store.count, (event) => options.onEvent?.(event));
  for await (const { first, values, rows: count } of exactBlocks(folder, dimensions, rows)) {
    options.signal?.throwIfAborted();
    const fault = values.subarray(0, count * dimensions).findIndex((value) => !Number.isFinite(value));
    if (fault >= 0) {
      throw new DataError(
        `vector ${first + Math.floor(fault / dimensions) + 1} holds values that are no numbers: restore the file, or build the index again with --fresh`,
        { file: join(folder, indexFiles.vectors) },
      );
    }
    for (const row of sample.rows.filter((one) => one >= first && one < first + count)) {
      sample.stored.set(row, values.slice((row - first) * dimensions, (row - first + 1) * dimensions));
    }
    tell(first + count);
  }
  return `${told}, all of them numbers`;
}

async function* exactBlocks(folder: string, dimensions: number, rows: number): AsyncGenerator<VectorBlock> {
  const file = await StoredVectors.open(join(folder, indexFiles.vectors), dimensions, 0, rows);
  try {
    yield* file.blocks();
  } finally {
    await file.close();
  }
}

/** Passages are compared with their stored vectors (exact), or found by their own (LanceDB), and found by their own words. */
async function verifySample(
  folder: string,
  parts: IndexParts,
  rows: readonly number[],
  stored: ReadonlyMap<number, Float32Array>,
): Promise<string> {
  const { settings, store, dense, words } = parts;
  const texts = (await store.read(rows)).map(documentText);
  if (dense && settings.vectors?.kind === "exact") {
    const unlike = unlikeLines(await compareWithStored(store, dense.embedder, stored));
    if (unlike.length > 0) {
      const list = unlike.map((line) => `\n  ${line}`).join("");
      throw new DataError(
        `vectors are not those that ${dense.embedder.identity.model} makes of their passages (${unlike.length} of ${rows.length} have a cosine below ${leastCosine}):${list}\nbuild the index again with --fresh`,
        { file: join(folder, indexFiles.vectors) },
      );
    }
  } else if (dense) {
    const vectors = await dense.embedder.embedDocuments(texts);
    checkFound(`the ${settings.vectors?.kind} index of ${folder}`, "vectors", rows, await dense.vectors.search(vectors, searchedDepth));
  }
  if (words) checkFound(`the BM25 part of ${folder}`, "words", rows, await words.search(texts, searchedDepth));
  return `${rows.length} passages, by ${[dense && "vectors", words && "words"].filter(Boolean).join(" and ")}`;
}

function checkFound(what: string, by: string, rows: readonly number[], hits: readonly (readonly Hit[])[]): void {
  const missing = rows.filter((row, index) => !hits[index]?.some((hit) => hit.row === row));
  if (missing.length <= (1 - leastFound) * rows.length) return;
  throw new DataError(
    `${what} does not find passages by their own ${by} (${missing.length} of ${rows.length}, the first is passage ${(missing[0] as number) + 1}): build the index again with --fresh`,
  );
}
