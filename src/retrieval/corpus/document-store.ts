/**
 * Documents on the disk, by row. documents.jsonl has one document a line, so that any tool can read it; offsets.bin tells where each line
 * begins; store.json, written last, tells how many there are and their hashes.
 */
import type { FileHandle } from "node:fs/promises";
import { DataError } from "../../errors.ts";
import { readIfPresent } from "../../files/atomic-file.ts";
import type { Document } from "../../types.ts";
import { openSized } from "../sized-file.ts";
import { offsetBytes, storeFiles, storeSchema } from "./document-store-files.ts";
import { readRows } from "./document-store-rows.ts";
import type { StoredDocuments } from "./document-store-writer.ts";

export { type DocumentWriter, openDocumentWriter, type StoredDocuments } from "./document-store-writer.ts";

/** A finished document store, open for reading. Rows count from 0. */
export interface DocumentStore extends StoredDocuments {
  /** The documents of these rows, in the order asked for. */
  read(rows: readonly number[]): Promise<Document[]>;
  /** The documents of rows `from` up to `to`, without `to`. */
  range(from: number, to: number): Promise<Document[]>;
  close(): Promise<void>;
}

/** @throws DataError naming the file that is missing, unfinished or of another size than it was written with. */
export async function openDocumentStore(folder: string): Promise<DocumentStore> {
  const files = storeFiles(folder);
  const { bytes, formatVersion: _, ...stored } = await readAbout(files.about);
  const texts = await openSized(files.texts, bytes);
  try {
    const offsets = await openSized(files.offsets, (stored.count + 1) * offsetBytes);
    return new StoreReader(folder, texts, offsets, stored);
  } catch (error) {
    await texts.close();
    throw error;
  }
}

class StoreReader implements DocumentStore {
  readonly count: number;
  readonly idsSha256: string;
  readonly documentsSha256: string;

  constructor(
    readonly folder: string,
    readonly texts: FileHandle,
    readonly offsets: FileHandle,
    stored: StoredDocuments,
  ) {
    this.count = stored.count;
    this.idsSha256 = stored.idsSha256;
    this.documentsSha256 = stored.documentsSha256;
  }

  async read(rows: readonly number[]): Promise<Document[]> {
    const read = await Promise.all(rows.map((row) => this.range(row, row + 1)));
    return read.flat();
  }

  async range(from: number, to: number): Promise<Document[]> {
    if (!Number.isInteger(from) || !Number.isInteger(to) || from < 0 || to > this.count) {
      throw new RangeError(`rows ${from} to ${to} are asked for, the store ${this.folder} has ${this.count}`);
    }
    return readRows(this, from, to);
  }

  async close(): Promise<void> {
    await Promise.all([this.texts.close(), this.offsets.close()]);
  }
}

async function readAbout(file: string) {
  const text = await readIfPresent(file);
  if (text === undefined) throw new DataError("is missing, so the document store isn't finished: build the index again", { file });
  try {
    return storeSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new DataError("is not of this version or damaged: restore it, or build the index again", { file }, { cause: error });
  }
}
