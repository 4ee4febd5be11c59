import { documentText } from "../corpus/corpus.ts";
import type { DocumentStore } from "../corpus/document-store.ts";
import type { Embedder } from "../embedding/embedder.ts";
import type { BuildEvent, BuildStage } from "./build-progress.ts";
import { copyRows, type GivenVectors } from "./copy-rows.ts";
import { embedRows } from "./embed-rows.ts";
import type { SizedVectorSettings } from "./manifest.ts";
import { openVectorWriter } from "./open-index-vectors.ts";
import { Pace } from "./pace.ts";

/** What `buildVectors` fills, and from what. */
export interface BuildVectorsOptions {
  readonly folder: string;
  readonly vectors: SizedVectorSettings;
  readonly store: DocumentStore;
  readonly embedder: Embedder;
  /** Taken instead of the embedder's. */
  readonly given?: GivenVectors | undefined;
  readonly onEvent: (event: BuildEvent) => void;
  readonly signal?: AbortSignal | undefined;
}

/** Writes the vectors that are missing and builds what searching them needs. */
export async function buildVectors({ folder, vectors, store, embedder, given, onEvent, signal }: BuildVectorsOptions): Promise<void> {
  const writer = await openVectorWriter(folder, vectors);
  const rows = store.count;
  try {
    if (writer.rows > 0) onEvent({ kind: "kept", rows: writer.rows });
    const onBlock = rowProgress(given ? "copying vectors" : "embedding", rows, onEvent, writer.rows);
    if (given) await copyRows({ writer, given, onBlock, signal });
    else {
      const texts = async (from: number, to: number) => (await store.range(from, to)).map(documentText);
      await embedRows({ writer, embedder, rows, texts, onBlock, signal });
    }
    signal?.throwIfAborted();
    await writer.finish((done, total) => onEvent({ kind: "progress", stage: "vector index", done, total, words: "" }));
  } finally {
    await writer.close();
  }
}

/** Tells where a stage begins, and of rows done, with the rate. */
export function rowProgress(stage: BuildStage, rows: number, onEvent: (event: BuildEvent) => void, before = 0): (done: number) => void {
  const pace = new Pace(before);
  const tell = (done: number) => onEvent({ kind: "progress", stage, done, total: rows, words: pace.words(done) });
  // The first block of a large encoder takes a minute.
  tell(before);
  return tell;
}
