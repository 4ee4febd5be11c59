import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { DataError } from "../../errors.ts";
import type { CorpusOptions, PlacedDocument, SkippedPassage } from "../corpus/corpus-stream.ts";
import { openDocumentWriter } from "../corpus/document-store.ts";
import { openCorpus } from "../corpus/open-corpus.ts";
import { indexFiles } from "./index-folder.ts";
import type { IndexManifest } from "./manifest.ts";
import { Pace } from "./pace.ts";

/** Documents handed to the store at once. */
const batchDocuments = 1024;

/** What `buildDocuments` stores, and where. */
export interface BuildDocumentsOptions {
  readonly folder: string;
  readonly paths: readonly string[];
  readonly corpus: Omit<CorpusOptions, "onSkip">;
  /** Leave unusable passages out and list them in skipped.jsonl, instead of stopping at the first. */
  readonly skipBad: boolean;
  readonly onProgress: (bytesRead: number, totalBytes: number, words: string) => void;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Reads the corpus into the index folder's document store, from the start whatever an earlier attempt left.
 * @throws DataError as `openCorpus` and the store do.
 */
export async function buildDocuments(options: BuildDocumentsOptions): Promise<IndexManifest["documents"]> {
  const { folder, paths, corpus, skipBad, onProgress, signal } = options;
  const storeFolder = join(folder, indexFiles.documents);
  await rm(storeFolder, { recursive: true, force: true });
  const skipped = await SkippedFile.create(join(folder, indexFiles.skipped));
  try {
    const onSkip = skipBad ? (passage: SkippedPassage) => skipped.add(passage) : undefined;
    const stream = await openCorpus(paths, { ...corpus, ...(onSkip ? { onSkip } : {}) });
    const writer = await openDocumentWriter(storeFolder, onSkip ? { onSkip } : {});
    try {
      const pace = new Pace();
      let batch: PlacedDocument[] = [];
      const tell = (bytes: number) => {
        const { count } = writer;
        const words = count === 0 ? "" : `${count.toLocaleString("en")} passages, ${pace.words(count)}`;
        onProgress(bytes, stream.totalBytes, words);
      };
      const flush = async () => {
        signal?.throwIfAborted();
        await writer.append(batch);
        await skipped.flush();
        batch = [];
        // Readers are ahead of the passages that they give: the whole is told at the end.
        tell(Math.min(stream.bytesRead(), stream.totalBytes - 1));
      };
      tell(0);
      for await (const placed of stream) {
        batch.push(placed);
        if (batch.length === batchDocuments) await flush();
      }
      if (batch.length > 0) await flush();
      const { count, idsSha256, documentsSha256 } = await writer.finish();
      await skipped.finish();
      tell(stream.totalBytes);
      if (count === 0) throw new DataError(`holds no passage: all ${skipped.count} were unusable`, { file: paths.join(", ") });
      return { count, idsSha256, documentsSha256, skipped: skipped.count };
    } finally {
      await writer.close();
    }
  } finally {
    await skipped.close();
  }
}

/** skipped.jsonl: `{file, line?, reason}` a line. */
class SkippedFile {
  count = 0;
  private waiting = "";

  private constructor(private readonly handle: Awaited<ReturnType<typeof open>>) {}

  static async create(file: string): Promise<SkippedFile> {
    return new SkippedFile(await open(file, "w"));
  }

  add({ place, reason }: SkippedPassage): void {
    this.count++;
    this.waiting += `${JSON.stringify({ ...place, reason })}\n`;
  }

  async flush(): Promise<void> {
    const text = this.waiting;
    this.waiting = "";
    if (text !== "") await this.handle.appendFile(text);
  }

  async finish(): Promise<void> {
    await this.flush();
    await this.handle.sync();
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}
