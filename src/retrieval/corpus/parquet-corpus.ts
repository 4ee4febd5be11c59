import { isUtf8 } from "node:buffer";
import { stat } from "node:fs/promises";
import {
  type AsyncBuffer,
  asyncBufferFromFile,
  type FileMetaData,
  parquetMetadataAsync,
  parquetReadObjects,
  parquetSchema,
} from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { DataError } from "../../errors.ts";
import type { Place } from "./corpus-stream.ts";
import { type Entries, firstPresent, idFields, textFields, toEntry } from "./entry.ts";
import { unreadable } from "./file-bytes.ts";

/** Rows decoded at once; a row group may hold a million. */
const sliceRows = 8192;

const decoder = new TextDecoder();
/** Stands for a value that the passage can't be made from, and says why. */
const notUtf8 = { toJSON: () => "bytes that are not UTF-8" };
/** Left to itself, hyparquet puts replacement characters in the place of bytes that are not UTF-8. */
const parsers = {
  stringFromBytes: (bytes: Uint8Array | undefined) => bytes && (isUtf8(bytes) ? decoder.decode(bytes) : notUtf8),
};

/**
 * A Parquet file as Hugging Face ships it: columns id (or _id, docid), title, and text (or contents), the only ones read. Memory:
 * the compressed columns of one row group and some decoded pages. `onRead` hears the file's bytes in proportion to the rows.
 * The line of a place is the row, from 1.
 * @throws DataError naming the file when it can't be read, is damaged (and the first row not read), or lacks a column (naming those
 * it has).
 */
export async function* parquetEntries(file: string, onRead: (bytes: number) => void): Entries {
  const { size } = await stat(file).catch((error: unknown) => {
    throw unreadable(file, error);
  });
  const { source, metadata } = await opened(file);
  const columns = neededColumns(metadata, file);
  const rows = Number(metadata.num_rows);
  let start = 0;
  for (const group of metadata.row_groups) {
    const groupEnd = start + Number(group.num_rows);
    const groupSource = withMemory(source);
    while (start < groupEnd) {
      const end = Math.min(start + sliceRows, groupEnd);
      const first = start + 1;
      const records = await attempt({ file, line: first }, () =>
        parquetReadObjects({ file: groupSource, metadata, columns, rowStart: start, rowEnd: end, compressors, parsers }),
      );
      yield records.map((record, index) => toEntry(record, { file, line: first + index }));
      onRead(Math.floor((end / rows) * size) - Math.floor((start / rows) * size));
      start = end;
    }
  }
}

async function opened(file: string): Promise<{ source: AsyncBuffer; metadata: FileMetaData }> {
  return attempt({ file }, async () => {
    const source = await asyncBufferFromFile(file);
    return { source, metadata: await parquetMetadataAsync(source) };
  });
}

async function attempt<Result>(place: Place, act: () => Promise<Result>): Promise<Result> {
  try {
    return await act();
  } catch (error) {
    throw new DataError(`can't be read as Parquet (${(error as Error).message}): fetch it again`, place, { cause: error });
  }
}

function neededColumns(metadata: FileMetaData, file: string): string[] {
  const found = parquetSchema(metadata).children.map((child) => child.element.name);
  const present = Object.fromEntries(found.map((name) => [name, true]));
  const id = firstPresent(present, idFields);
  const text = firstPresent(present, textFields);
  if (id === undefined || text === undefined) {
    const missing = id === undefined ? `id (or ${idFields.slice(1).join(", ")})` : `text (or ${textFields.slice(1).join(", ")})`;
    throw new DataError(`has no column ${missing}; it has ${found.join(", ")}: rename the column, or name other files`, { file });
  }
  return [id, text, ...(text === "text" && found.includes("title") ? ["title"] : [])];
}

/** Remembers what was read: the slices of a row group all ask for the same column chunks. */
function withMemory(source: AsyncBuffer): AsyncBuffer {
  const held = new Map<string, Promise<ArrayBuffer>>();
  return {
    byteLength: source.byteLength,
    slice(start, end) {
      const key = `${start}-${end}`;
      let bytes = held.get(key);
      if (bytes === undefined) {
        bytes = Promise.resolve(source.slice(start, end));
        held.set(key, bytes);
      }
      return bytes;
    },
  };
}
