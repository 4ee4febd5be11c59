/** How large an index will be, judged by the head of its corpus, and whether it fits. */
import { statfs } from "node:fs/promises";
import { freemem } from "node:os";
import { ConfigError } from "../../errors.ts";
import { documentText } from "../corpus/corpus.ts";
import type { CorpusStream } from "../corpus/corpus-stream.ts";
import { memoryLimit } from "../memory-limit.ts";
import { wordsOf } from "../words.ts";
import { blockRows } from "./embed-rows.ts";
import type { IndexSettings } from "./index-settings.ts";
import type { VectorSettings } from "./manifest.ts";

/** What the head of a corpus tells. */
export interface CorpusSample {
  /** Passages in all; exact where the sample was all of it. */
  readonly documents: number;
  readonly exact: boolean;
  /** Bytes of a passage as it is stored. */
  readonly storedBytes: number;
  /** Different words of a passage. */
  readonly distinctWords: number;
  /** Different words of the whole corpus, judged by Heaps' law. */
  readonly vocabulary: number;
}

/** What an index will take, in bytes: about so much when it is finished, unless another time is named. */
export interface IndexEstimate {
  readonly documents: number;
  /** Whether `documents` was counted, not judged. */
  readonly exact: boolean;
  readonly disk: { readonly texts: number; readonly vectors: number; readonly vectorIndex: number; readonly bm25: number };
  readonly diskTotal: number;
  /** What a build takes besides and gives back at its end. */
  readonly diskMeanwhile: number;
  /** At the peak of the build, this process as a whole. */
  readonly memory: number;
  /** Disk and memory that are free. */
  readonly freeDisk: number;
  readonly freeMemory: number;
}

/** What the machine has left; a parameter so that tests can be short of it. */
export interface Machine {
  /** Bytes free to us on the disk of a folder that exists. */
  freeDisk(folder: string): Promise<number>;
  /** Bytes that this process may have, those it holds included. */
  freeMemory(): number;
  /** Bytes that this process holds; an open encoder's weights are among them. */
  usedMemory(): number;
}

/** This machine; a container's memory limit counts. */
export const thisMachine: Machine = {
  async freeDisk(folder) {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  },
  freeMemory: () => Math.min(freemem() + process.memoryUsage.rss(), memoryLimit()),
  usedMemory: () => process.memoryUsage.rss(),
};

/** While ids are checked for duplicates. */
const idBytes = 32;
/** Directions of words that the hashed embedder keeps. */
const mostDirections = 65_536;
/** Node.js with what a build loads. */
const baseBytes = 250 * 2 ** 20;
/** What an encoder of the size of E5-base takes for a batch. */
const encodingBytes = 2 ** 30;
/** LanceDB's own code, threads and buffers. */
const lanceBytes = 300 * 2 ** 20;
/** A word and its count while they are learnt, sorted and written. */
const wordBytes = 300;

const sampledPassages = 20_000;
const sampledMilliseconds = 3000;
/** Of so many passages the words are counted. */
const wordsEvery = 16;
/** Heaps' law: the vocabulary of English text grows with about this power of its length. */
const heapsExponent = 0.6;

/**
 * Reads the head of a corpus. `known`: its passages, where they were counted before.
 * @throws DataError for unusable passages in it, unless the stream was opened to skip them, and where there is no passage at all.
 */
export async function sampleCorpus(corpus: CorpusStream, signal?: AbortSignal, known?: number): Promise<CorpusSample> {
  const started = performance.now();
  const vocabulary = new Set<string>();
  let [documents, storedBytes, distinctWords, exact] = [0, 0, 0, true];
  for await (const { document } of corpus) {
    signal?.throwIfAborted();
    storedBytes += Buffer.byteLength(JSON.stringify(document)) + 1;
    if (documents % wordsEvery === 0) {
      const words = new Set(wordsOf(documentText(document)));
      distinctWords += words.size;
      for (const word of words) vocabulary.add(word);
    }
    documents++;
    if (documents < sampledPassages && performance.now() - started < sampledMilliseconds) continue;
    exact = false;
    break;
  }
  const read = Math.max(1, corpus.bytesRead());
  const total = known ?? (exact ? documents : Math.max(documents, Math.round((documents * corpus.totalBytes) / read)));
  const sampled = Math.max(1, documents);
  const counted = Math.ceil(sampled / wordsEvery);
  return {
    documents: total,
    exact: exact || known !== undefined,
    storedBytes: storedBytes / sampled,
    distinctWords: distinctWords / counted,
    vocabulary: Math.round(vocabulary.size * (total / counted) ** heapsExponent),
  };
}

/** What an index of these settings takes to build in `folder`. `dimensions`: of its vectors, 0 where it has none. */
export async function estimateIndex(
  sample: CorpusSample,
  settings: IndexSettings,
  dimensions: number,
  folder: string,
  machine: Machine,
): Promise<IndexEstimate> {
  const disk = estimateDisk(sample, settings, dimensions);
  return {
    documents: sample.documents,
    exact: sample.exact,
    disk,
    diskTotal: disk.texts + disk.vectors + disk.vectorIndex + disk.bm25,
    diskMeanwhile: settings.kind === "dense" ? 0 : Math.round(postingsOf(sample) * segmentPostingBytes),
    memory: Math.round(Math.max(baseBytes, machine.usedMemory()) + workingMemory(sample, settings, dimensions)),
    freeDisk: await machine.freeDisk(folder),
    freeMemory: machine.freeMemory(),
  };
}

/** What a build takes at its peak besides the code and the encoder; its parts are made one after the other. */
function workingMemory(sample: CorpusSample, { kind, embedder, vectors }: IndexSettings, dimensions: number): number {
  const { documents, storedBytes, vocabulary } = sample;
  const words = vocabulary * wordBytes;
  const block = blockRows * (3 * 4 * dimensions + 6 * storedBytes);
  const encoding = embedder?.kind === "onnx" ? encodingBytes : 0;
  const embedding = block + encoding + (embedder?.kind === "hashed" ? words + mostDirections * (4 * dimensions + 100) : 0);
  const index = vectors === undefined || vectors.kind === "exact" ? 0 : annMemory(documents, dimensions, vectors.kind);
  return Math.max(documents * idBytes, embedding, index, kind === "dense" ? 0 : words);
}

/** What LanceDB takes: a sample of vectors to learn partitions from, and codes or graphs while it sorts them. */
function annMemory(documents: number, dimensions: number, kind: VectorSettings["kind"]): number {
  const learnt = Math.min(documents, 256 * Math.sqrt(documents)) * dimensions * 4;
  // One graph at a time, of at most two million vectors.
  return lanceBytes + learnt + (kind === "hnsw" ? Math.min(documents, 2 ** 21) * (4 * dimensions + 400) : 0);
}

/** Bytes of an index with these settings over a corpus like the sample. `dimensions`: of its vectors, 0 where it has none. */
export function estimateDisk(sample: CorpusSample, { kind, embedder, vectors }: IndexSettings, dimensions: number): IndexEstimate["disk"] {
  const { documents, storedBytes, vocabulary } = sample;
  // At a location of LanceDB they are not on the disk of the folder.
  const here = vectors !== undefined && vectors.location === undefined;
  return {
    texts: Math.round(documents * (storedBytes + 8) + (embedder?.kind === "hashed" ? vocabulary * 20 : 0)),
    vectors: here ? documents * dimensions * 4 : 0,
    vectorIndex: here ? Math.round(documents * annBytes(vectors, dimensions)) : 0,
    bm25: kind === "dense" ? 0 : Math.round(postingsOf(sample) * postingBytes + vocabulary * dictionaryBytes + documents * 4),
  };
}

// Measured over 27,240 passages of Wikipedia.
/** Bytes of a posting. */
const postingBytes = 2;
/** The same in the segments that are merged at the end, their words included. */
const segmentPostingBytes = 3;
/** Bytes of a word in the dictionary. */
const dictionaryBytes = 11;

function postingsOf({ documents, distinctWords }: CorpusSample): number {
  return documents * distinctWords;
}

/** Bytes a vector takes besides itself. */
function annBytes({ kind, subVectors, bits }: VectorSettings, dimensions: number): number {
  if (kind === "exact") return 0;
  const rowId = 8;
  if (kind === "ivf-rq") return (dimensions * (bits ?? 1)) / 8 + 16 + rowId;
  // LanceDB's HNSW keeps a byte a dimension and about 40 neighbours of 4 bytes.
  if (kind === "hnsw") return dimensions + 160 + rowId;
  return ((subVectors ?? dimensions / 8) * (bits ?? 8)) / 8 + rowId;
}

/**
 * @param present bytes that an earlier, unfinished build has already written.
 * @throws ConfigError telling what is missing, and what to do about it.
 */
export function checkFits(estimate: IndexEstimate, folder: string, present: number): void {
  const { disk, diskTotal, diskMeanwhile, memory, freeDisk, freeMemory, documents } = estimate;
  const needed = diskTotal + diskMeanwhile - present;
  if (needed > freeDisk) {
    const parts = Object.entries({
      texts: disk.texts,
      [`vectors of ${documents.toLocaleString("en")} passages`]: disk.vectors,
      "vector index": disk.vectorIndex,
      BM25: disk.bm25,
      "BM25's parts until they are merged": diskMeanwhile,
    }).flatMap(([name, bytes]) => (bytes > 0 ? [`${name} ${bytesText(bytes)}`] : []));
    throw new ConfigError(
      `the index needs about ${bytesText(needed)} (${parts.join(", ")}), but the disk of ${folder} has ${bytesText(freeDisk)} free: ${advice(
        "name a folder on another disk",
        disk,
      )}, or go on all the same with --force`,
    );
  }
  if (memory > freeMemory) {
    throw new ConfigError(
      `building the index takes about ${bytesText(memory)} of memory, ${bytesText(freeMemory)} are free: end other programs, use a larger machine, ${advice(
        "choose fewer or shorter passages",
        disk,
      )}, or go on all the same with --force`,
    );
  }
}

function advice(first: string, disk: IndexEstimate["disk"]): string {
  if (disk.vectors < disk.texts + disk.bm25) return first;
  return `${first}, choose an embedder with fewer dimensions, or do without vectors (kind bm25)`;
}

/** `12.3 GiB` */
export function bytesText(bytes: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)));
  const amount = bytes / 1024 ** power;
  return `${power === 0 ? amount : amount.toFixed(amount < 10 ? 1 : 0)} ${units[power]}`;
}
