/** The steps of a build, each of which is done once however often the build is killed. */
import { rm } from "node:fs/promises";
import { extname, join } from "node:path";
import type { RetrievalConfig } from "../../config.ts";
import { version } from "../../files/version.ts";
import { documentText } from "../corpus/corpus.ts";
import { type DocumentStore, openDocumentStore } from "../corpus/document-store.ts";
import { openCorpus } from "../corpus/open-corpus.ts";
import type { Embedder } from "../embedding/embedder.ts";
import { analyserVersion } from "../words.ts";
import { buildDocuments } from "./build-documents.ts";
import { learnHashedEmbedder, openIndexEmbedder } from "./build-embedder.ts";
import type { BuildEvent, BuildJournal } from "./build-progress.ts";
import { buildVectors, rowProgress } from "./build-vectors.ts";
import type { GivenVectors } from "./copy-rows.ts";
import type { CorpusSource } from "./corpus-sources.ts";
import { blockRows } from "./embed-rows.ts";
import { checkFits, estimateIndex, type Machine, sampleCorpus, thisMachine } from "./estimate.ts";
import { folderBytes, indexFileSizes, indexFiles } from "./index-folder.ts";
import { checkIdentity, type IndexSettings } from "./index-settings.ts";
import { type IndexManifest, indexFormatVersion, writeManifest } from "./manifest.ts";

/** What is to be built, where, and who hears of it. */
export interface BuildIndexOptions {
  /** Its corpus, embedder, kind and index settings count. */
  readonly config: RetrievalConfig;
  readonly folder: string;
  /** Start over, whatever index the folder holds. */
  readonly fresh?: boolean;
  /** Go on although disk or memory seem too small. */
  readonly force?: boolean;
  readonly onEvent?: (event: BuildEvent) => void;
  /** Stops the build at the next block; what is done is kept. */
  readonly signal?: AbortSignal;
  /** Disk and memory; a parameter for tests. */
  readonly machine?: Machine;
}

/** Vectors of another index that take the place of embedding, and whether they are the embedder's. */
export interface ImportedVectors extends GivenVectors {
  readonly sources: readonly CorpusSource[];
  /** `index import-faiss` with the flags that name the vectors. */
  readonly arguments: readonly string[];
  /** @throws ConfigError when the embedder's vectors have another length. */
  checkDimensions(embedder: Embedder): void;
  /** @throws ConfigError or DataError when the vectors are not those of these documents by this embedder. */
  check(store: DocumentStore, embedder: Embedder): Promise<void>;
}

/** A build whose folder is locked and whose settings and corpus are known. */
export interface PreparedBuild extends BuildIndexOptions {
  readonly settings: IndexSettings;
  readonly paths: readonly string[];
  readonly journal: BuildJournal;
  readonly imported: ImportedVectors | undefined;
}

/**
 * Tries what a build begins with (the embedder, the head of the corpus, disk and memory) and changes nothing: before a finished index is given up
 * for it.
 * @throws What `runBuild` throws for these.
 */
export async function tryBuild(build: Omit<PreparedBuild, "journal">): Promise<void> {
  const { folder, settings, config, imported } = build;
  const { embedder: embedding } = settings;
  const embedder =
    embedding === undefined || embedding.kind === "hashed" ? undefined : await openIndexEmbedder(folder, embedding, config.embedder);
  try {
    if (embedder !== undefined) imported?.checkDimensions(embedder);
    await estimate({ ...build, onEvent: () => undefined }, embedder?.dimensions ?? embedding?.dimensions ?? 0);
  } finally {
    await embedder?.close?.();
  }
}

/** Does what is not yet done, from the estimate to the manifest. */
export async function runBuild(build: PreparedBuild): Promise<IndexManifest> {
  const { folder, settings, config, imported } = build;
  const { embedder: embedding } = settings;
  let embedder: Embedder | undefined;
  try {
    // An encoder tells its dimensions, and whether it can be opened at all, before hours of work.
    if (embedding !== undefined && embedding.kind !== "hashed") embedder = await openIndexEmbedder(folder, embedding, config.embedder);
    if (embedder !== undefined) imported?.checkDimensions(embedder);
    await estimate(build, embedder?.dimensions ?? embedding?.dimensions ?? 0, build.journal.state.documents?.count);
    const documents = await storeDocuments(build);
    const store = await openDocumentStore(join(folder, indexFiles.documents));
    try {
      if (embedding?.kind === "hashed") {
        await learnStatistics(build, store);
        embedder = await openIndexEmbedder(folder, embedding, config.embedder);
      }
      if (embedder !== undefined) await storeVectors(build, store, embedder);
      if (settings.kind !== "dense") await storeWords(build, store);
    } finally {
      await store.close();
    }
    return await finish(build, documents, embedder);
  } finally {
    await embedder?.close?.();
  }
}

async function estimate(build: Omit<PreparedBuild, "journal">, dimensions: number, known?: number): Promise<void> {
  const { folder, paths, config, settings, machine = thisMachine, force = false, onEvent, signal } = build;
  const { format, passageWords, skipBad } = config;
  const corpus = await openCorpus(paths, { format, passageWords, ...(skipBad ? { onSkip: () => signal?.throwIfAborted() } : {}) });
  if (corpus.others.length > 0) onEvent?.({ kind: "others", files: corpus.others.length, kinds: kindsOf(corpus.others) });
  const sample = await sampleCorpus(corpus, signal, known);
  const judged = await estimateIndex(sample, settings, dimensions, folder, machine);
  onEvent?.({ kind: "estimate", estimate: judged });
  if (!force) checkFits(judged, folder, await folderBytes(folder));
}

/** The extensions of files, each once, in alphabetical order. */
function kindsOf(files: readonly string[]): string[] {
  return [...new Set(files.map((file) => extname(file).slice(1).toLowerCase()))].sort();
}

async function storeDocuments(build: PreparedBuild): Promise<IndexManifest["documents"]> {
  const { folder, paths, config, journal, onEvent, signal } = build;
  const { format, passageWords, skipBad } = config;
  const known = journal.state.documents;
  if (known !== undefined) return known;
  const documents = await buildDocuments({
    folder,
    paths,
    corpus: { format, passageWords },
    skipBad,
    onProgress: (done, total, words) => onEvent?.({ kind: "progress", stage: "reading", done, total, words }),
    signal,
  });
  await journal.note({ documents }, "documents");
  onEvent?.({ kind: "documents", count: documents.count, skipped: documents.skipped });
  return documents;
}

async function learnStatistics(build: PreparedBuild, store: DocumentStore): Promise<void> {
  const { folder, settings, journal } = build;
  if (settings.embedder === undefined || journal.has("embedder")) return;
  await learnHashedEmbedder(folder, settings.embedder, textsOf(build, store, "word statistics"));
  await journal.note({}, "embedder");
}

async function storeVectors(build: PreparedBuild, store: DocumentStore, embedder: Embedder): Promise<void> {
  const { folder, settings, journal, imported, onEvent, signal } = build;
  if (settings.vectors === undefined || journal.has("vectors")) return;
  const before = journal.state.identity;
  if (before === undefined) await journal.note({ identity: embedder.identity });
  else checkIdentity(folder, before, embedder.identity);
  await imported?.check(store, embedder);
  const vectors = { ...settings.vectors, dimensions: embedder.dimensions };
  await buildVectors({ folder, vectors, store, embedder, given: imported, onEvent: (event) => onEvent?.(event), signal });
  await journal.note({}, "vectors");
  const truncated = embedder.truncated?.() ?? 0;
  if (truncated > 0) onEvent?.({ kind: "truncated", passages: truncated });
}

async function storeWords(build: PreparedBuild, store: DocumentStore): Promise<void> {
  const { folder, journal, signal } = build;
  if (journal.has("bm25")) return;
  const { buildStoredBm25 } = await import("./stored-bm25.ts");
  await buildStoredBm25(join(folder, indexFiles.bm25), textsOf(build, store, "BM25"), { signal });
  await journal.note({}, "bm25");
}

async function finish(build: PreparedBuild, documents: IndexManifest["documents"], embedder: Embedder | undefined): Promise<IndexManifest> {
  const { folder, settings, journal } = build;
  const manifest: IndexManifest = {
    formatVersion: indexFormatVersion,
    cosearch: version,
    kind: settings.kind,
    ...(embedder && settings.embedder ? { embedder: { identity: embedder.identity, settings: settings.embedder } } : {}),
    ...(embedder && settings.vectors ? { vectors: { ...settings.vectors, dimensions: embedder.dimensions } } : {}),
    ...(settings.kind === "dense" ? {} : { bm25: { analyserVersion } }),
    documents,
    files: await indexFileSizes(folder),
    sources: journal.state.sources.map(({ name, bytes }) => ({ name, bytes })),
  };
  await writeManifest(folder, manifest);
  await rm(join(folder, indexFiles.build));
  return manifest;
}

/** The texts of all documents in order, telling how far it has come. */
async function* textsOf(
  { onEvent, signal }: PreparedBuild,
  store: DocumentStore,
  stage: Extract<BuildEvent, { kind: "progress" }>["stage"],
): AsyncGenerator<string> {
  const tell = rowProgress(stage, store.count, (event) => onEvent?.(event));
  for (let from = 0; from < store.count; from += blockRows) {
    signal?.throwIfAborted();
    const to = Math.min(store.count, from + blockRows);
    for (const document of await store.range(from, to)) yield documentText(document);
    tell(to);
  }
}
