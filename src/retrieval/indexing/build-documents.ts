import { rm } from "node:fs/promises";
import { join } from "node:path";
import { DataError } from "../../errors.ts";
import type { CorpusOptions, PlacedDocument, SkippedPassage } from "../corpus/corpus-stream.ts";
import { openDocumentWriter } from "../corpus/document-store.ts";
import { openCorpus } from "../corpus/open-corpus.ts";
import { ByteFile } from "./bm25-bytes.ts";
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
  // `{file, line?, reason}` a line.
  const skippedFile = new ByteFile(join(folder, indexFiles.skipped));
  let skipped = 0;
  const skip = ({ place, reason }: SkippedPassage) => {
    signal?.throwIfAborted();
    skipped++;
    skippedFile.bytes(Buffer.from(`${JSON.stringify({ ...place, reason })}\n`));
    skippedFile.drain();
  };
  try {
    const onSkip = skipBad ? skip : undefined;
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
      skippedFile.finish();
      tell(stream.totalBytes);
      if (count === 0) {
        throw new DataError(`holds no passage: all ${skipped} were unusable, see ${join(folder, indexFiles.skipped)}`, {
          file: paths.join(", "),
        });
      }
      return { count, idsSha256, documentsSha256, skipped };
    } finally {
      await writer.close();
    }
  } finally {
    skippedFile.close();
  }
}
