/**
 * Seeded synthetic embeddings, shaped like real ones: clusters of very unequal size within topics, a spectrum that decays (a few directions carry most of the
 * variance), dense coordinates and unit length. Queries are fresh points of the same clusters with noise of their own, so that their
 * neighbours lie at the rims of several clusters and no index gets them for nothing.
 */
import { open } from "node:fs/promises";
import { Rng } from "../src/rng.ts";

/** Where the vectors of one size lie: raw float32, row after row. */
export interface VectorFiles {
  readonly rows: number;
  readonly dimensions: number;
  readonly queries: number;
  readonly vectorFile: string;
  readonly queryFile: string;
}

/** Rows generated and written at once. */
const blockRows = 4096;
/** Share of a cluster centre's variance that is its topic's: neighbours beyond the own cluster come from related ones. */
const topicShare = 0.5;
/** Share of a vector's variance that is its own rather than its cluster's. */
const ownShare = 0.5;
/** The same for queries: farther from the centre than the rows are. */
const queryShare = 0.6;

/** Draws vectors of `dimensions` values. */
class VectorSource {
  private readonly clusters: number;
  private readonly scales: Float32Array;
  private readonly centres: Float32Array;
  private readonly signs: readonly Float32Array[];

  constructor(
    readonly dimensions: number,
    rows: number,
    private readonly seed: number,
  ) {
    this.clusters = Math.max(16, Math.round(4 * Math.sqrt(rows)));
    // Variance of direction i falls as 1 / (i + 8); uniform draws have the variance 1/12, and mixing makes normal-looking sums of them.
    this.scales = Float32Array.from({ length: dimensions }, (_, index) => Math.sqrt(12 / (index + 8)));
    const centreRng = Rng.stream(seed, "centres");
    this.centres = new Float32Array(this.clusters * dimensions);
    const draw = (index: number) => (centreRng.uniform() - 0.5) * (this.scales[index % dimensions] as number);
    const topics = Math.ceil(Math.sqrt(this.clusters));
    const topicCentres = Float32Array.from({ length: topics * dimensions }, (_, index) => draw(index));
    for (let index = 0; index < this.centres.length; index++) {
      const topic = topicCentres[index % topicCentres.length] as number;
      this.centres[index] = Math.sqrt(topicShare) * topic + Math.sqrt(1 - topicShare) * draw(index);
    }
    const signRng = Rng.stream(seed, "signs");
    this.signs = [0, 1].map(() => Float32Array.from({ length: dimensions }, () => (signRng.uniform() < 0.5 ? -1 : 1)));
  }

  /** Fills `target` with vectors of the stream `name`. */
  fill(target: Float32Array, share: number, ...name: readonly (string | number)[]): void {
    const { dimensions } = this;
    const rng = Rng.stream(this.seed, ...name);
    const own = Math.sqrt(share);
    const common = Math.sqrt(1 - share);
    const scratch = new Float32Array(dimensions);
    for (let start = 0; start < target.length; start += dimensions) {
      // Squaring the draw makes the clusters unequal: the largest hold many times what the smallest do.
      const cluster = Math.floor(this.clusters * rng.uniform() ** 2) * dimensions;
      const vector = target.subarray(start, start + dimensions);
      for (let index = 0; index < dimensions; index++) {
        const noise = (rng.uniform() - 0.5) * (this.scales[index] as number);
        vector[index] = common * (this.centres[cluster + index] as number) + own * noise;
      }
      this.mix(vector, scratch);
      normalise(vector);
    }
  }

  /** An orthogonal map that spreads every direction over all coordinates: signs, butterflies in blocks, a shuffle, and again. */
  private mix(vector: Float32Array, scratch: Float32Array): void {
    const { dimensions } = this;
    const block = dimensions & -dimensions;
    const blocks = dimensions / block;
    for (const signs of this.signs) {
      for (let index = 0; index < dimensions; index++) scratch[index] = (vector[index] as number) * (signs[index] as number);
      for (let half = 1; half < block; half *= 2) {
        for (let left = 0; left < dimensions; left += 2 * half) {
          for (let index = left; index < left + half; index++) {
            const [a, b] = [scratch[index] as number, scratch[index + half] as number];
            scratch[index] = a + b;
            scratch[index + half] = a - b;
          }
        }
      }
      for (let index = 0; index < dimensions; index++) {
        vector[(index % block) * blocks + Math.floor(index / block)] = scratch[index] as number;
      }
    }
  }
}

function normalise(vector: Float32Array): void {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const factor = 1 / Math.sqrt(squares);
  for (let index = 0; index < vector.length; index++) vector[index] = (vector[index] as number) * factor;
}

/** Writes the vectors and queries; the same seed and sizes give the same bytes. */
export async function writeVectors(files: VectorFiles, seed: number): Promise<void> {
  const source = new VectorSource(files.dimensions, files.rows, seed);
  const write = async (path: string, count: number, share: number, name: string) => {
    const handle = await open(path, "w");
    try {
      for (let row = 0; row < count; row += blockRows) {
        const block = new Float32Array(Math.min(blockRows, count - row) * files.dimensions);
        source.fill(block, share, name, row);
        await handle.writeFile(new Uint8Array(block.buffer));
      }
    } finally {
      await handle.close();
    }
  };
  await write(files.vectorFile, files.rows, ownShare, "rows");
  await write(files.queryFile, files.queries, queryShare, "queries");
}
