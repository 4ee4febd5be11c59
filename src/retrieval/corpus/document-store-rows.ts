import type { FileHandle } from "node:fs/promises";
import { DataError } from "../../errors.ts";
import type { Document } from "../../types.ts";
import { offsetBytes } from "./document-store-files.ts";

/** An open store's two files; `folder` for errors. */
export interface StoreHandles {
  readonly folder: string;
  readonly texts: FileHandle;
  readonly offsets: FileHandle;
}

/**
 * Rows `from` up to `to`, without `to`; two reads however many they are.
 * @throws DataError naming the folder when the files are cut or changed.
 */
export async function readRows({ folder, texts, offsets }: StoreHandles, from: number, to: number): Promise<Document[]> {
  if (from >= to) return [];
  const damaged = (cause?: unknown) =>
    new DataError(`row ${from + 1} of the document store can't be read: restore it, or build the index again`, { file: folder }, { cause });
  const starts = await readExactly(offsets, (to - from + 1) * offsetBytes, from * offsetBytes, damaged);
  const startOf = (index: number) => Number(starts.readBigUInt64LE(index * offsetBytes));
  const begin = startOf(0);
  const length = startOf(to - from) - begin;
  if (length <= 0 || length > longestRead || !Number.isSafeInteger(begin)) throw damaged();
  const lines = await readExactly(texts, length, begin, damaged);
  return Array.from({ length: to - from }, (_, index) => {
    try {
      return JSON.parse(lines.toString("utf8", startOf(index) - begin, startOf(index + 1) - begin)) as Document;
    } catch (error) {
      throw damaged(error);
    }
  });
}

/** No buffer is longer on any supported system; also what tells a damaged offset before it takes all memory. */
const longestRead = 2 ** 31 - 1;

async function readExactly(handle: FileHandle, length: number, position: number, damaged: () => Error): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  let done = 0;
  while (done < length) {
    const { bytesRead } = await handle.read(buffer, done, length - done, position + done);
    if (bytesRead === 0) throw damaged();
    done += bytesRead;
  }
  return buffer;
}
