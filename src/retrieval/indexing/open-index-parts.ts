import { join } from "node:path";
import type { RetrievalConfig } from "../../config.ts";
import { ConfigError, DataError, RunFolderError } from "../../errors.ts";
import { type DocumentStore, openDocumentStore } from "../corpus/document-store.ts";
import type { Embedder } from "../embedding/embedder.ts";
import { analyserVersion } from "../words.ts";
import { openIndexEmbedder } from "./build-embedder.ts";
import { readBuildState } from "./build-progress.ts";
import { goOnCommand } from "./go-on-command.ts";
import { checkFileSizes, indexFiles } from "./index-folder.ts";
import { checkIdentity, type IndexSettings, openingSettings } from "./index-settings.ts";
import { type IndexManifest, readManifest } from "./manifest.ts";
import { openVectorIndex } from "./open-index-vectors.ts";
import type { TextIndex, VectorIndex } from "./vector-index.ts";

/** The open parts of an index folder, checked against its manifest. */
export interface IndexParts {
  readonly manifest: IndexManifest;
  /** What it is opened as: the manifest's settings, with what the configuration may decide anew. */
  readonly settings: IndexSettings;
  readonly store: DocumentStore;
  /** Absent where it is opened as BM25 alone. */
  readonly dense?: { readonly embedder: Embedder; readonly vectors: VectorIndex };
  /** Absent where it is opened as dense alone. */
  readonly words?: TextIndex;
  close(): Promise<void>;
}

type Keep = <Part extends { close?(): Promise<void> }>(part: Part) => Part;

const rebuild = "restore the folder, or build the index again with --fresh";

/** Opens what `openIndex` searches; it tells the errors. */
export async function openIndexParts(folder: string, config: RetrievalConfig): Promise<IndexParts> {
  const manifest = await finishedManifest(folder);
  const settings = openingSettings(config, manifest, folder);
  await checkFileSizes(folder, manifest.files);
  const opened: { close?(): Promise<void> }[] = [];
  const keep: Keep = (part) => {
    opened.push(part);
    return part;
  };
  const close = async () => {
    await Promise.all(opened.splice(0).map((part) => part.close?.()));
  };
  try {
    const store = keep(await openDocumentStore(join(folder, indexFiles.documents)));
    for (const key of ["count", "idsSha256", "documentsSha256"] as const) {
      agree(`the documents of ${folder}`, key, manifest.documents[key], store[key]);
    }
    const dense = settings.kind === "bm25" ? undefined : await openDense(folder, manifest, settings, config, keep);
    const words = settings.kind === "dense" ? undefined : await openWords(folder, manifest, config, keep);
    return { manifest, settings, store, ...(dense ? { dense } : {}), ...(words ? { words } : {}), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** @throws RunFolderError telling how to get a finished index. */
export async function finishedManifest(folder: string): Promise<IndexManifest> {
  const manifest = await readManifest(folder);
  if (manifest !== undefined) return manifest;
  const unfinished = await readBuildState(folder);
  if (unfinished !== undefined)
    throw new RunFolderError(`the index in ${folder} is not finished: go on with  ${goOnCommand(folder, unfinished)}`);
  throw new RunFolderError(`${folder} holds no index: build one with  cosearch index build --corpus FILE --index ${folder}`);
}

async function openDense(
  folder: string,
  manifest: IndexManifest,
  settings: IndexSettings,
  config: RetrievalConfig,
  keep: Keep,
): Promise<IndexParts["dense"]> {
  if (
    manifest.embedder === undefined ||
    manifest.vectors === undefined ||
    settings.embedder === undefined ||
    settings.vectors === undefined
  ) {
    throw new DataError(`is of kind ${manifest.kind}, but names no embedder and vectors: ${rebuild}`, {
      file: join(folder, indexFiles.manifest),
    });
  }
  const embedder = keep(await openIndexEmbedder(folder, settings.embedder, config.embedder));
  checkIdentity(folder, manifest.embedder.identity, embedder.identity);
  const { dimensions, metric } = manifest.vectors;
  const what = `the vectors of ${folder}`;
  agree(what, "dimensions", dimensions, embedder.dimensions);
  const vectors = keep(await openVectorIndex(folder, { ...settings.vectors, dimensions }));
  agree(what, "count", manifest.documents.count, vectors.rows);
  agree(what, "dimensions", dimensions, vectors.dimensions);
  agree(what, "metric", metric, vectors.metric);
  return { embedder, vectors };
}

async function openWords(folder: string, manifest: IndexManifest, { k1, b }: RetrievalConfig, keep: Keep): Promise<TextIndex> {
  const what = `the BM25 part of ${folder}`;
  agree(what, "version of the text analysis", manifest.bm25?.analyserVersion, analyserVersion);
  const { openStoredBm25 } = await import("./stored-bm25.ts");
  const words = keep(await openStoredBm25(join(folder, indexFiles.bm25), { k1, b }));
  agree(what, "count", manifest.documents.count, words.rows);
  return words;
}

/** @throws ConfigError naming both sides. */
function agree(what: string, field: string, stated: unknown, found: unknown): void {
  if (stated === found) return;
  throw new ConfigError(`${what} do not agree with its manifest (${field}: the manifest has ${stated}, found is ${found}): ${rebuild}`);
}
