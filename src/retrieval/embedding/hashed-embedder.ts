import { DataError } from "../../errors.ts";
import { Rng } from "../../rng.ts";
import { wordsOf } from "../words.ts";
import type { Embedder, EmbedderIdentity } from "./embedder.ts";
import { type HashedEmbedderState, hashedFingerprint } from "./hashed-state.ts";
import { scaleToUnit } from "./pool-vectors.ts";

export type { HashedEmbedderState } from "./hashed-state.ts";

/** See the fields of the same names in {@link HashedEmbedderState}; defaults 384, 1 and 0. */
export interface HashedEmbedderOptions {
  readonly dimensions?: number;
  readonly idfPower?: number;
  readonly trigramWeight?: number;
}

/**
 * A dense embedder that needs no download: random indexing (Kanerva et al. 2000). Every word owns a Gaussian vector
 * drawn from the hash of its spelling; a text is the sum of its words' vectors, weighted by idf^power, and normalised.
 * Different words are nearly orthogonal, so the inner product approximates a weighted word overlap with the noise of
 * about 1 / sqrt(dimensions) that a learnt dense retriever has too.
 */
export class HashedEmbedder implements Embedder {
  readonly name = "hashed";
  readonly dimensions: number;
  readonly identity: EmbedderIdentity;
  private readonly frequencies: ReadonlyMap<string, number>;
  private readonly directions = new Map<string, Float32Array>();

  private constructor(readonly state: HashedEmbedderState) {
    this.dimensions = state.dimensions;
    this.frequencies = new Map(state.documentFrequencies);
    const fingerprint = hashedFingerprint(state);
    const { name: model, dimensions } = this;
    this.identity = { kind: "hashed", model, dimensions, queryPrefix: "", documentPrefix: "", normalize: true, fingerprint };
  }

  /** Learns the document frequencies of `texts`. */
  static fit(texts: readonly string[], options: HashedEmbedderOptions = {}): HashedEmbedder {
    const counts = new FrequencyCounts(options);
    for (const text of texts) counts.add(text);
    return new HashedEmbedder(counts.state());
  }

  /** As `fit`, of texts that come one after the other: the memory grows with the distinct words alone. */
  static async fitStream(texts: AsyncIterable<string>, options: HashedEmbedderOptions = {}): Promise<HashedEmbedder> {
    const counts = new FrequencyCounts(options);
    for await (const text of texts) counts.add(text);
    return new HashedEmbedder(counts.state());
  }

  static fromState(state: HashedEmbedderState): HashedEmbedder {
    return new HashedEmbedder(state);
  }

  async embedQueries(texts: readonly string[]): Promise<Float32Array[]> {
    return texts.map((text) => this.embed(text));
  }

  async embedDocuments(texts: readonly string[]): Promise<Float32Array[]> {
    return texts.map((text) => this.embed(text));
  }

  private embed(text: string): Float32Array {
    const sum = new Float64Array(this.dimensions);
    for (const [feature, amount] of featuresOf(text, this.state.trigramWeight)) {
      const weight = amount * this.inverseFrequency(feature) ** this.state.idfPower;
      const direction = this.direction(feature);
      for (let index = 0; index < sum.length; index++) sum[index] = (sum[index] as number) + weight * (direction[index] as number);
    }
    let squares = 0;
    for (const value of sum) squares += value * value;
    const scale = squares > 0 ? 1 / Math.sqrt(squares) : 0;
    return Float32Array.from(sum, (value) => value * scale);
  }

  /** ln(1 + N / (1 + n)): positive for every word, largest for unseen ones. */
  private inverseFrequency(feature: string): number {
    return Math.log(1 + this.state.documents / (1 + (this.frequencies.get(feature) ?? 0)));
  }

  /** The feature's unit vector. Those of the corpus's features are kept, as many as `mostDirections`. */
  private direction(feature: string): Float32Array {
    const known = this.directions.get(feature);
    if (known) return known;
    const stream = Rng.stream(0, "hashed-embedder", feature);
    const direction = Float32Array.from({ length: this.dimensions }, () => stream.normal());
    scaleToUnit(direction);
    if (this.directions.size < mostDirections && this.frequencies.has(feature)) this.directions.set(feature, direction);
    return direction;
  }
}

/** 100 MB of 384 dimensions. Common words come first; drawing a rare one again gives the same bits. */
const mostDirections = 65_536;

/** Most keys that a Map can hold. */
const mostFeatures = 2 ** 24;

/** Counts the documents that hold each feature. */
class FrequencyCounts {
  private documents = 0;
  private readonly frequencies = new Map<string, number>();
  private readonly settings: Required<HashedEmbedderOptions>;

  constructor({ dimensions = 384, idfPower = 1, trigramWeight = 0 }: HashedEmbedderOptions) {
    this.settings = { dimensions, idfPower, trigramWeight };
  }

  add(text: string): void {
    for (const feature of featuresOf(text, this.settings.trigramWeight).keys()) {
      const known = this.frequencies.get(feature);
      if (known === undefined && this.frequencies.size === mostFeatures) {
        throw new DataError(
          `the corpus has more than ${mostFeatures} distinct words, which the hashed embedder can't count: take an onnx or endpoint embedder, or BM25`,
        );
      }
      this.frequencies.set(feature, (known ?? 0) + 1);
    }
    this.documents++;
  }

  state(): HashedEmbedderState {
    const documentFrequencies = [...this.frequencies].sort(([left], [right]) => (left < right ? -1 : 1));
    return { ...this.settings, documents: this.documents, documentFrequencies };
  }
}

/** Words (amount 1 each occurrence) and, if wanted, their character trigrams, together as long as `trigramWeight` of a word. */
function featuresOf(text: string, trigramWeight: number): Map<string, number> {
  const features = new Map<string, number>();
  const add = (feature: string, amount: number) => features.set(feature, (features.get(feature) ?? 0) + amount);
  for (const word of wordsOf(text)) {
    add(word, 1);
    if (trigramWeight <= 0) continue;
    const padded = `<${word}>`;
    const count = Math.max(1, padded.length - 2);
    for (let start = 0; start < count; start++) add(`#${padded.slice(start, start + 3)}`, trigramWeight / Math.sqrt(count));
  }
  return features;
}
