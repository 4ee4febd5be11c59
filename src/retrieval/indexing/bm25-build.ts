/** Building in bounded memory: the texts' postings gather in memory, are written as sorted segments, and the segments are merged. */
import { mkdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { DataError } from "../../errors.ts";
import { writeJsonAtomically } from "../../files/json-file.ts";
import { analyserVersion, bm25Words } from "../words.ts";
import { ByteFile } from "./bm25-bytes.ts";
import { bm25Files, bm25FormatVersion, mostRows, type StoredBm25About } from "./bm25-files.ts";
import { mergeSegments } from "./bm25-merge.ts";
import { Bm25Segment } from "./bm25-segment.ts";

/** How far a build has come: texts read, or words merged. */
export interface Bm25Progress {
  readonly stage: "reading" | "merging";
  readonly done: number;
}

/** Who hears of a build, and how much memory it may take. */
export interface Bm25BuildOptions {
  readonly onProgress?: (progress: Bm25Progress) => void;
  readonly signal?: AbortSignal | undefined;
  /** Postings kept in memory, 16 bytes each. Default 8,388,608. */
  readonly segmentPostings?: number;
}

/** Between two looks at progress and signal. */
const textsPerTurn = 1024;

/** Fills an empty folder with an index. */
export async function fillBm25(folder: string, texts: AsyncIterable<string>, options: Bm25BuildOptions): Promise<void> {
  const { onProgress, signal, segmentPostings = 1 << 23 } = options;
  const segmentsFolder = join(folder, "segments");
  await mkdir(segmentsFolder);
  const files = bm25Files(folder);
  const lengths = new ByteFile(files.lengths);
  const segments: string[] = [];
  let segment = new Bm25Segment(segmentPostings);
  let [rows, totalLength] = [0, 0];
  const flush = () => {
    const path = join(segmentsFolder, String(segments.length));
    segment.flush(path);
    segments.push(path);
  };
  try {
    for await (const text of texts) {
      if (rows % textsPerTurn === 0) {
        signal?.throwIfAborted();
        onProgress?.({ stage: "reading", done: rows });
        lengths.drain();
      }
      if (rows === mostRows) throw new DataError(`BM25 can't index more than ${mostRows} passages: split the corpus`);
      const words = bm25Words(text);
      if (!segment.fits(words.length)) {
        if (!segment.empty) flush();
        if (!segment.fits(words.length)) segment = new Bm25Segment(words.length);
      }
      segment.add(rows++, words);
      lengths.unsigned(words.length);
      totalLength += words.length;
    }
    if (!segment.empty) flush();
    lengths.finish();
  } finally {
    lengths.close();
  }
  await setImmediate();
  const merged = await mergeSegments(segments, files, await readLengths(files.lengths, rows), { onProgress, signal });
  await rm(segmentsFolder, { recursive: true });
  const sizes = await Promise.all([files.lengths, files.postings, files.words, files.sparse].map(async (file) => (await stat(file)).size));
  const [lengthBytes = 0, postings = 0, words = 0, sparse = 0] = sizes;
  const about: StoredBm25About = {
    formatVersion: bm25FormatVersion,
    analyserVersion,
    rows,
    ...merged,
    totalLength,
    bytes: { lengths: lengthBytes, postings, words, sparse },
  };
  await writeJsonAtomically(files.about, about);
}

/** Words of every row. */
export async function readLengths(file: string, rows: number): Promise<Uint32Array> {
  const bytes = await readFile(file);
  if (bytes.length !== rows * 4) throw new DataError(`has ${bytes.length} bytes, not 4 for each of ${rows} passages`, { file });
  return Uint32Array.from({ length: rows }, (_, row) => bytes.readUInt32LE(row * 4));
}
