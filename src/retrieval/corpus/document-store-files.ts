/** A document store's files: what writer and reader agree on. */
import { join } from "node:path";
import { z } from "zod";

/** Version of the layout. */
export const storeFormatVersion = 1;

/** Paths below a store's folder. */
export function storeFiles(folder: string): { readonly texts: string; readonly offsets: string; readonly about: string } {
  return { texts: join(folder, "documents.jsonl"), offsets: join(folder, "offsets.bin"), about: join(folder, "store.json") };
}

/** Bytes of an offset: where a row begins in documents.jsonl, an unsigned little-endian integer. One more than rows: the last is the end. */
export const offsetBytes = 8;

/** store.json, written last: a store without it isn't finished. */
export const storeSchema = z.strictObject({
  formatVersion: z.literal(storeFormatVersion),
  count: z.int().min(0),
  /** Of documents.jsonl. */
  bytes: z.int().min(0),
  idsSha256: z.string(),
  documentsSha256: z.string(),
});
