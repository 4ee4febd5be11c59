import type { Document } from "../../types.ts";

/** Where a passage stands: `line` counts from 1 (for Parquet: the row; absent for a whole file). */
export interface Place {
  readonly file: string;
  readonly line?: number;
}

/** A passage and where it was read. */
export interface PlacedDocument {
  readonly document: Document;
  readonly place: Place;
}

/** A passage that could not be used, and why. */
export interface SkippedPassage {
  readonly place: Place;
  readonly reason: string;
}

/** File formats; `text` is a folder of .md, .txt and .html. `auto`: judged by the name. */
export type CorpusFormat = "auto" | "jsonl" | "dpr" | "parquet" | "text";

/** How a corpus is read. */
export interface CorpusOptions {
  readonly format?: CorpusFormat;
  /** Called for every unusable passage, which is then left out. Absent: the first one throws a DataError. */
  readonly onSkip?: (skipped: SkippedPassage) => void;
  /** Words of a passage cut from a text. Default 100. */
  readonly passageWords?: number;
}

/**
 * A corpus read as a stream in constant memory, files in the order given (those of a folder in name order). Ids are not yet checked for
 * duplicates: `DocumentStore` writers do that.
 */
export interface CorpusStream extends AsyncIterable<PlacedDocument> {
  /** Bytes on the disk, compressed as they are. */
  readonly totalBytes: number;
  /** Files of other kinds in folders of texts, which are not read. */
  readonly others: readonly string[];
  /** Of those bytes, how many were read so far. */
  bytesRead(): number;
}
