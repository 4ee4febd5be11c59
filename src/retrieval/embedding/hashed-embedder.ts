import { createHash } from "node:crypto";
import { Rng } from "../../rng.ts";
import { wordsOf } from "../words.ts";
import type { Embedder, EmbedderIdentity } from "./embedder.ts";

/** Settings and learnt statistics of a `HashedEmbedder`: plain data, all that is needed to rebuild it. */
export interface HashedEmbedderState {
  readonly dimensions: number;
  /** Exponent of the inverse document frequency: 0 counts all words alike, larger values favour rare words (names). */
  readonly idfPower: number;
  /** Weight of a word's character trigrams relative to the word itself; 0: none. */
  readonly trigramWeight: number;
  /** Documents seen by `fit`. */
  readonly documents: number;
  /** Number of documents that hold each word (and trigram, spelled `#abc`), sorted by feature. */
  readonly documentFrequencies: readonly (readonly [string, number])[];
}

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
    const fingerprint = createHash("sha256").update(JSON.stringify(state)).digest("hex");
    const { name: model, dimensions } = this;
    this.identity = { kind: "hashed", model, dimensions, queryPrefix: "", documentPrefix: "", normalize: true, fingerprint };
  }

  /** Learns the document frequencies of `texts`. */
  static fit(texts: readonly string[], options: HashedEmbedderOptions = {}): HashedEmbedder {
    const { dimensions = 384, idfPower = 1, trigramWeight = 0 } = options;
    const frequencies = new Map<string, number>();
    for (const text of texts) {
      for (const feature of featuresOf(text, trigramWeight).keys()) frequencies.set(feature, (frequencies.get(feature) ?? 0) + 1);
    }
    const documentFrequencies = [...frequencies].sort(([left], [right]) => (left < right ? -1 : 1));
    return new HashedEmbedder({ dimensions, idfPower, trigramWeight, documents: texts.length, documentFrequencies });
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

  /** The feature's unit vector. Only features of the corpus are kept, so that queries can't grow the memory. */
  private direction(feature: string): Float32Array {
    const known = this.directions.get(feature);
    if (known) return known;
    const stream = Rng.stream(0, "hashed-embedder", feature);
    const direction = Float32Array.from({ length: this.dimensions }, () => stream.normal());
    let squares = 0;
    for (const value of direction) squares += value * value;
    const scale = 1 / Math.sqrt(squares);
    for (let index = 0; index < direction.length; index++) direction[index] = (direction[index] as number) * scale;
    if (this.frequencies.has(feature)) this.directions.set(feature, direction);
    return direction;
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
