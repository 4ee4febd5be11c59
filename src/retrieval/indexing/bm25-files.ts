/** A stored BM25 index's files: what builder and reader agree on. All integers are unsigned and little-endian; words are ordered by UTF-16 units. */
import { join } from "node:path";
import { z } from "zod";
import { analyserVersion } from "../words.ts";

/** Version of the layout. */
export const bm25FormatVersion = 1;

/** Postings of a block: what is decoded, or skipped, at once. */
export const blockPostings = 128;

/** Words between two entries of the sparse index. */
export const wordsPerEntry = 64;

/** More rows would not fit a posting: twice a row must stay below 2^31. */
export const mostRows = 2 ** 30;

/** Paths below an index's folder. */
export function bm25Files(folder: string) {
  return {
    /** What the index is; written last. */
    about: join(folder, "bm25.json"),
    /** Words of each row: 4 bytes a row. */
    lengths: join(folder, "lengths.bin"),
    /** The lists of all words in word order; see `PostingsEncoder`. */
    postings: join(folder, "postings.bin"),
    /** Each word: bytes of its spelling and the spelling (UTF-8), number of postings, bytes of its list; the numbers as varints. */
    words: join(folder, "words.bin"),
    /** Every 64th word: as in words.bin, then where it begins in words.bin and where its list begins in postings.bin, 8-byte floats each. */
    sparse: join(folder, "words-sparse.bin"),
  };
}

/** bm25.json. */
export const bm25Schema = z.strictObject({
  formatVersion: z.literal(bm25FormatVersion),
  analyserVersion: z.literal(analyserVersion),
  rows: z.int().min(0),
  /** Distinct words. */
  words: z.int().min(0),
  postings: z.int().min(0),
  /** Words of all rows, repetitions counted. */
  totalLength: z.int().min(0),
  /** Bytes of the other files. */
  bytes: z.strictObject({ lengths: z.int(), postings: z.int(), words: z.int(), sparse: z.int() }),
});

/** What bm25.json tells. */
export type StoredBm25About = z.infer<typeof bm25Schema>;
