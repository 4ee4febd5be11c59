import { createHash } from "node:crypto";
import { type FileHandle, mkdir, open, rm } from "node:fs/promises";
import { RunFolderError } from "../../errors.ts";
import { writeJsonAtomically } from "../../files/json-file.ts";
import type { Document } from "../../types.ts";
import type { CorpusOptions, PlacedDocument } from "./corpus-stream.ts";
import { offsetBytes, storeFiles, storeFormatVersion } from "./document-store-files.ts";
import { RowsById } from "./document-store-ids.ts";
import { PlacesOfRows } from "./document-store-places.ts";
import { readRows } from "./document-store-rows.ts";
import { duplicateReason } from "./duplicate-id.ts";
import { UnusablePassageError } from "./unusable-passage.ts";

/** What a finished store holds. */
export interface StoredDocuments {
  readonly count: number;
  /** SHA-256 (hexadecimal) of the ids in order, each as JSON and a line feed. */
  readonly idsSha256: string;
  /** SHA-256 (hexadecimal) of documents.jsonl: ids, titles and texts in order. */
  readonly documentsSha256: string;
}

/** Fills a document store. */
export interface DocumentWriter {
  /** Documents taken so far. */
  readonly count: number;
  /** Rows are given in the order of documents. @throws UnusablePassageError for an id that is used twice, naming both places; RunFolderError when the disk refuses. */
  append(documents: readonly PlacedDocument[]): Promise<void>;
  /** Flushes everything to the disk and makes the store complete. */
  finish(): Promise<StoredDocuments>;
  /** Without `finish` the store stays unfinished: it can't be opened, and the next writer starts over. */
  close(): Promise<void>;
}

/** Begins a store; whatever store the folder held is gone. With `onSkip` a passage whose id is taken is told and left out, instead of thrown. */
export async function openDocumentWriter(folder: string, options: Pick<CorpusOptions, "onSkip"> = {}): Promise<DocumentWriter> {
  const files = storeFiles(folder);
  await mkdir(folder, { recursive: true });
  await rm(files.about, { force: true });
  const texts = await open(files.texts, "w+");
  try {
    return new StoreWriter(folder, texts, await open(files.offsets, "w+"), options.onSkip);
  } catch (error) {
    await texts.close();
    throw error;
  }
}

class StoreWriter implements DocumentWriter {
  private readonly rowsById = new RowsById();
  private readonly places = new PlacesOfRows();
  private readonly idsHash = createHash("sha256");
  readonly textsHash = createHash("sha256");
  /** Rows and bytes that are written; `waiting` comes after them. */
  private written = 0;
  private bytes = 0;
  private waiting: Document[] = [];
  private last: Document | undefined;

  constructor(
    readonly folder: string,
    readonly texts: FileHandle,
    readonly offsets: FileHandle,
    private readonly onSkip: CorpusOptions["onSkip"],
  ) {}

  get count(): number {
    return this.written + this.waiting.length;
  }

  async append(documents: readonly PlacedDocument[]): Promise<void> {
    for (const { document, place } of documents) {
      const earlier = await this.rowOf(document.id);
      if (earlier === undefined) {
        this.rowsById.add(document.id, this.count);
        this.places.add(place);
        this.waiting.push(document);
        continue;
      }
      const reason = duplicateReason(document.id, this.places.at(earlier), place);
      if (this.onSkip === undefined) throw new UnusablePassageError(reason, place);
      this.onSkip({ place, reason });
    }
    await this.guarded(() => this.flush());
  }

  async finish(): Promise<StoredDocuments> {
    return this.guarded(async () => {
      await this.offsets.appendFile(offsetsOf([this.bytes]));
      await this.texts.sync();
      await this.offsets.sync();
      const stored = { count: this.count, idsSha256: this.idsHash.digest("hex"), documentsSha256: this.textsHash.digest("hex") };
      await writeJsonAtomically(storeFiles(this.folder).about, { formatVersion: storeFormatVersion, bytes: this.bytes, ...stored });
      return stored;
    });
  }

  async close(): Promise<void> {
    await this.texts.close();
    await this.offsets.close();
  }

  /** The row that has this id. Rows with an equal hash are compared by what is stored. */
  private async rowOf(id: string): Promise<number | undefined> {
    for (const row of this.rowsById.candidates(id)) {
      const document = row < this.written ? await this.stored(row) : this.waiting[row - this.written];
      if (document?.id === id) return row;
    }
    return undefined;
  }

  private async stored(row: number): Promise<Document> {
    // The last row that is written has no end yet: its end is where writing goes on.
    if (row === this.written - 1) return this.last as Document;
    return (await readRows(this, row, row + 1))[0] as Document;
  }

  private async flush(): Promise<void> {
    const lines = this.waiting.map((document) => Buffer.from(lineOf(document)));
    const starts: number[] = [];
    for (const line of lines) {
      starts.push(this.bytes);
      this.bytes += line.length;
    }
    const block = Buffer.concat(lines);
    await this.texts.appendFile(block);
    await this.offsets.appendFile(offsetsOf(starts));
    this.textsHash.update(block);
    this.idsHash.update(this.waiting.map(({ id }) => `${JSON.stringify(id)}\n`).join(""));
    this.written += this.waiting.length;
    this.last = this.waiting.at(-1) ?? this.last;
    this.waiting = [];
  }

  private async guarded<Result>(act: () => Promise<Result>): Promise<Result> {
    try {
      return await act();
    } catch (error) {
      throw new RunFolderError(`${this.folder} can't be written: ${(error as Error).message}`, { cause: error });
    }
  }
}

function lineOf({ id, title, text }: Document): string {
  return `${JSON.stringify({ id, title, text })}\n`;
}

function offsetsOf(starts: readonly number[]): Buffer {
  const buffer = Buffer.alloc(starts.length * offsetBytes);
  starts.forEach((start, index) => {
    buffer.writeBigUInt64LE(BigInt(start), index * offsetBytes);
  });
  return buffer;
}
