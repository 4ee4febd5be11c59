import { join } from "node:path";
import type { RetrievalConfig } from "../config.ts";
import { ConfigError } from "../errors.ts";
import { readIfPresent } from "../files/atomic-file.ts";
import { corpusPaths, loadCorpus } from "./corpus/corpus.ts";
import type { SkippedPassage } from "./corpus/corpus-stream.ts";
import { createRetriever } from "./create-retriever.ts";
import type { BuildEvent } from "./indexing/build-progress.ts";
import { localCorpusPaths } from "./indexing/corpus-sources.ts";
import { indexFiles } from "./indexing/index-folder.ts";
import type { Retriever } from "./retriever.ts";

/** A first stage that is ready to search. */
export interface OpenRetriever {
  readonly retriever: Retriever;
  /** How many passages it searches; absent where a server has them. */
  readonly documents?: number;
  /** What it is, in a few words, e.g. `dense (intfloat/e5-base-v2, ivf-pq) over 21,015,324 passages in indexes/wiki`. */
  readonly description: string;
  /** Gives up files, threads and connections. */
  close(): Promise<void>;
}

/** Who hears of what opening does. */
export interface OpenRetrieverOptions {
  /** An index folder that is missing is built from the corpus first. */
  readonly onBuild?: (event: BuildEvent) => void;
  /** With `retrieval.skipBad` and no index folder: passages left out. */
  readonly onSkip?: (passage: SkippedPassage) => void;
  readonly signal?: AbortSignal;
}

/**
 * The first stage that a configuration's `retrieval` section asks for: a server (`remote.url`), an index folder (`index.folder`, built first
 * when it holds no finished index and a corpus is given), or else an index in memory over the corpus.
 * @throws whatever reading the corpus, building and opening the index throw; ConfigError when the section names no data at all.
 */
export async function openRetriever(config: RetrievalConfig, options: OpenRetrieverOptions = {}): Promise<OpenRetriever> {
  if (config.remote.url !== undefined) return openRemote(config, config.remote.url);
  if (config.index.folder !== undefined) return openFolder(config, config.index.folder, options);
  return openInMemory(config, options);
}

async function openRemote({ remote, cacheSize }: RetrievalConfig, url: string): Promise<OpenRetriever> {
  const { remoteRetriever } = await import("./remote-retriever.ts");
  const retriever = remoteRetriever({ ...remote, url, cacheSize });
  return { retriever, description: `the server at ${url}`, close: () => retriever.close() };
}

/** Builds the index folder that a configuration names, where it holds no finished index and a corpus is given. */
export async function ensureIndex(config: RetrievalConfig, { onBuild, signal }: OpenRetrieverOptions = {}): Promise<void> {
  const { folder } = config.index;
  if (folder === undefined || corpusPaths(config).length === 0) return;
  if ((await readIfPresent(join(folder, indexFiles.manifest))) !== undefined) return;
  const { buildIndex } = await import("./indexing/build-index.ts");
  await buildIndex({ config, folder, ...(onBuild ? { onEvent: onBuild } : {}), ...(signal ? { signal } : {}) });
}

async function openFolder(config: RetrievalConfig, folder: string, options: OpenRetrieverOptions): Promise<OpenRetriever> {
  await ensureIndex(config, options);
  const { openIndex } = await import("./indexing/open-index.ts");
  const index = await openIndex(folder, config);
  const { settings, manifest } = index;
  const parts = settings.kind === "bm25" ? [] : [manifest.embedder?.identity.model, settings.vectors?.kind];
  return {
    retriever: index,
    documents: manifest.documents.count,
    description: described(settings.kind, parts, manifest.documents.count, ` in ${folder}`),
    close: () => index.close(),
  };
}

async function openInMemory(config: RetrievalConfig, { onSkip, signal }: OpenRetrieverOptions): Promise<OpenRetriever> {
  const paths = await localCorpusPaths(config, signal);
  if (paths.length === 0) {
    throw new ConfigError("retrieval.corpus: is needed, unless retrieval.index.folder or retrieval.remote.url is given");
  }
  const { format, passageWords, skipBad } = config;
  const documents = await loadCorpus(paths, { format, passageWords, ...(skipBad ? { onSkip: onSkip ?? (() => undefined) } : {}) });
  const retriever = await createRetriever(config, documents);
  return {
    retriever,
    documents: documents.length,
    description: described(config.kind ?? "dense", [retriever.embedderModel], documents.length, " in memory"),
    close: () => retriever.close(),
  };
}

function described(kind: string, parts: readonly (string | undefined)[], documents: number, place: string): string {
  const known = parts.filter((part) => part !== undefined);
  const how = known.length > 0 ? ` (${known.join(", ")})` : "";
  return `${kind}${how} over ${documents.toLocaleString("en")} passages${place}`;
}
