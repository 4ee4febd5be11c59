/**
 * How LanceDB's indexes are built and searched where the settings leave it open. The defaults were chosen for a recall@50 above .95 with
 * room for harder data. On 200,000 clustered vectors of 768 dimensions (bench/retrieval-vectors.ts) ivf-rq finds .999 of exact search's
 * results; .997 with 16 partitions read, .994 with 8; .984 when only twice as many vectors as asked for are scored again, .83 with none more.
 */
import type * as Lance from "@lancedb/lancedb";
import { ConfigError } from "../../errors.ts";
import { lanceModules } from "./lance-place.ts";
import type { SizedVectorSettings } from "./manifest.ts";

/** Fewer rows get no index: comparing all of them is as quick, exact, and quantisers need some to learn from. */
export const fewestIndexedRows = 1024;
/** Vectors from which a partition's centre is learned, and rounds of doing so: more cost minutes and gain less than .01 of recall. */
const training = { sampleRate: 64, maxIterations: 10 };
/** HNSW: rows of one graph; while it is built, a graph and its vectors are in memory. */
const graphRows = 2 ** 21;

/** IVF: fewer rows a partition leave some empty. */
const partitionRows = 128;

type Distance = "l2" | "cosine" | "dot";

/**
 * LanceDB's distance for the metric. Its HNSW finds next to nothing by inner product (the graph is walked over byte codes whose inner
 * products mean little: recall@50 .05); vectors of length one have the same order by cosine, others the writer refuses.
 */
export function lanceDistance({ kind, metric }: SizedVectorSettings): Distance {
  if (metric === "inner-product") return kind === "hnsw" ? "cosine" : "dot";
  return metric;
}

/** Whether the vectors must have length one; see {@link lanceDistance}. */
export function needsUnitVectors({ kind, metric }: SizedVectorSettings): boolean {
  return kind === "hnsw" && metric === "inner-product";
}

/** @throws ConfigError when the settings can't be those of an index of this kind. */
export function checkLayout({ kind, dimensions, subVectors, bits }: SizedVectorSettings): void {
  const key = "retrieval.index";
  if (kind === "ivf-pq" && subVectors !== undefined && dimensions % subVectors !== 0) {
    throw new ConfigError(`${key}.subVectors: ${subVectors} doesn't divide the ${dimensions} dimensions of the vectors: choose a divisor`);
  }
  if (kind === "ivf-pq" && bits !== undefined && bits !== 4 && bits !== 8) {
    throw new ConfigError(`${key}.bits: ivf-pq takes 4 or 8 bits a sub-vector, not ${bits}`);
  }
  if (kind === "ivf-rq" && dimensions % 8 !== 0) {
    throw new ConfigError(
      `${key}.kind: ivf-rq takes vectors whose dimensions are a multiple of 8, not ${dimensions}: choose ivf-pq or hnsw`,
    );
  }
}

/** The index that is built over so many rows. */
export function lanceIndex(settings: SizedVectorSettings, rows: number): Lance.Index {
  const { Index } = lanceModules().lance;
  const { kind, dimensions, subVectors, bits } = settings;
  const shared = { distanceType: lanceDistance(settings), numPartitions: partitionsOf(settings, rows), ...training };
  if (kind === "hnsw") return Index.hnswSq({ ...shared, m: 16, efConstruction: 150 });
  if (kind === "ivf-rq") return Index.ivfRq({ ...shared, ...(bits !== undefined && { numBits: bits }) });
  return Index.ivfPq({ ...shared, numSubVectors: subVectors ?? defaultSubVectors(dimensions), numBits: bits ?? 8 });
}

function partitionsOf({ kind, partitions }: SizedVectorSettings, rows: number): number {
  if (partitions !== undefined) return Math.min(partitions, rows);
  return kind === "hnsw" ? Math.ceil(rows / graphRows) : Math.max(1, Math.round(Math.min(Math.sqrt(rows), rows / partitionRows)));
}

/** Eight values a sub-vector, one where that doesn't come out even. */
function defaultSubVectors(dimensions: number): number {
  return [8, 4, 2].map((size) => dimensions / size).find(Number.isInteger) ?? dimensions;
}

/** How hard a search looks. */
export interface LanceEffort {
  /** Partitions that are read. */
  readonly probes: number;
  /** Results that are scored again with the full vectors, as a multiple of `topK`. */
  readonly refine: number;
  /** hnsw: candidates kept on the walk. */
  readonly ef?: number;
}

/** The effort of a search for `topK` results among so many rows. */
export function lanceEffort(settings: SizedVectorSettings, rows: number, topK: number): LanceEffort {
  const partitions = partitionsOf(settings, rows);
  if (settings.kind === "hnsw") {
    const refine = settings.refine ?? 2;
    const ef = settings.ef ?? Math.max(100, 2 * topK * refine);
    return { probes: Math.min(partitions, settings.probes ?? partitions), refine, ef };
  }
  const probes = settings.probes ?? Math.max(8, Math.round(partitions / 16));
  // Codes confuse near neighbours: few results need more company than many.
  const refine = settings.refine ?? Math.max(settings.kind === "ivf-rq" ? 4 : 6, Math.ceil(200 / topK));
  return { probes: Math.min(partitions, probes), refine };
}
