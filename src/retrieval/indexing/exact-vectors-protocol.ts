/** What crosses the thread between an exact index and its worker: plain data only. */
import type { Metric } from "../../config.ts";
import type { PlainError } from "../../threads/plain-error.ts";
import type { Hit } from "./vector-index.ts";

/** Handed to the worker when it starts. */
export interface ExactWorkerData {
  readonly file: string;
  readonly dimensions: number;
  readonly metric: Metric;
  readonly threads: number;
  readonly memoryBytes: number;
  readonly rows: number | undefined;
  /** One Int32: not 0 once the index is closed. Shared, so that a busy worker sees it. */
  readonly closed: SharedArrayBuffer;
}

/** One call at a time; without queries: the last one. */
export interface ExactWorkerCall {
  readonly queries: readonly Float32Array[];
  readonly topK: readonly number[];
}

/** The first answer tells what was opened; later ones what was found. */
export type ExactWorkerAnswer = { readonly rows: number; readonly inMemory: boolean } | PlainHits | { readonly error: PlainError };

/** Hits of many queries, one after the other. */
export interface PlainHits {
  readonly counts: readonly number[];
  readonly hitRows: Float64Array;
  readonly scores: Float64Array;
}

export function toPlainHits(found: readonly (readonly Hit[])[]): PlainHits {
  const hits = found.flat();
  return {
    counts: found.map((list) => list.length),
    hitRows: Float64Array.from(hits, ({ row }) => row),
    scores: Float64Array.from(hits, ({ score }) => score),
  };
}

export function fromPlainHits({ counts, hitRows, scores }: PlainHits): Hit[][] {
  let place = 0;
  return counts.map((count) => Array.from({ length: count }, () => ({ row: hitRows[place] as number, score: scores[place++] as number })));
}
