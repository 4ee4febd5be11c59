/** Runs the decode graphs over a key-value cache: many new tokens at once (prefill, observations), or one a row. */
import * as ort from "onnxruntime-node";
import { createSession, floatTensor } from "../../onnx/session.ts";
import { cacheFloatsPerToken, decodeGraph, pastKeysName, pastValuesName } from "./decode-graph.ts";
import { int8Matrices } from "./int8-weights.ts";
import { KeyValueCache } from "./kv-cache.ts";
import type { AdapterParameters } from "./lora.ts";
import type { Parameters } from "./parameters.ts";
import { causalMask, maskedScore, rotaryTables } from "./runtime.ts";
import { adapterFeeds } from "./sampling-adapter.ts";

/** A piece is long enough for fast products, and its scores against a context of thousands of tokens are some tens of megabytes. */
export const defaultPieceTokens = 512;

/** How the graphs run. */
export interface DecoderOptions {
  readonly threads: number;
  readonly adapter?: AdapterParameters | undefined;
  /** Most new tokens a row in one run. Default 512. */
  readonly pieceTokens?: number | undefined;
  /** int8: steps multiply with a copy of the weights in bytes; prompts are computed with the weights as they are. Default f32. */
  readonly samplingWeights?: "f32" | "int8" | undefined;
}

/** Both graphs' sessions and the cache of the sequences in the batch. */
export class Decoder {
  readonly cache: KeyValueCache;
  /** Bytes that one token takes in the cache. */
  readonly bytesPerToken: number;
  private readonly feeds: Record<string, ort.Tensor>;

  private constructor(
    readonly parameters: Parameters,
    private readonly options: DecoderOptions,
    private readonly extendSession: ort.InferenceSession,
    private readonly stepSession: ort.InferenceSession,
  ) {
    const { shape } = parameters;
    this.cache = new KeyValueCache(shape);
    this.bytesPerToken = cacheFloatsPerToken(shape) * 4;
    const tables = rotaryTables(shape);
    const scale = 1 / Math.sqrt(shape.headSize);
    const scaled = (table: ort.Tensor) =>
      floatTensor(
        (table.data as Float32Array).map((value) => value * scale),
        table.dims,
      );
    this.feeds = {
      ...parameters.feeds,
      cosine: tables.cosine,
      sine: tables.sine,
      queryCosine: scaled(tables.cosine),
      querySine: scaled(tables.sine),
    };
    this.takeAdapter();
  }

  static async create(parameters: Parameters, options: DecoderOptions): Promise<Decoder> {
    const { threads, adapter, samplingWeights } = options;
    const int8 = samplingWeights === "int8" ? int8Matrices(parameters) : undefined;
    const extend = await createSession(decodeGraph(parameters.shape, "extend", adapter?.lora), threads);
    const step = await createSession(decodeGraph(parameters.shape, "step", adapter?.lora, int8), threads);
    return new Decoder(parameters, options, extend, step);
  }

  /** Uses the adapter as it is now: what it learns later is not seen until the next call. */
  takeAdapter(): void {
    const { adapter } = this.options;
    if (adapter !== undefined) Object.assign(this.feeds, adapterFeeds(adapter));
  }

  /**
   * Appends tokens to the rows from `firstRow` on, one list (never empty, longest first) a row, for which slots are reserved. Long lists
   * go in pieces: the attention scores of a piece against all that came before it are what memory must hold.
   * @returns the next token's probabilities [rows, vocabulary], each row at its inverse temperature.
   */
  async extend(firstRow: number, lists: readonly (readonly number[])[], inverseTemperatures: Float32Array): Promise<Float32Array> {
    const { pieceTokens = defaultPieceTokens } = this.options;
    const longest = lists[0]?.length ?? 0;
    if (longest <= pieceTokens) return this.extendAtOnce(firstRow, lists, inverseTemperatures);
    const { vocabularySize } = this.parameters.shape;
    const probabilities = new Float32Array(lists.length * vocabularySize);
    for (let from = 0; from < longest; from += pieceTokens) {
      const pieces = lists.filter(({ length }) => length > from).map((list) => list.slice(from, from + pieceTokens));
      const found = await this.extendAtOnce(firstRow, pieces, inverseTemperatures.subarray(0, pieces.length));
      // Rows that end within this piece have their next token; those before them in the list go on.
      const ended = pieces.findIndex((_, row) => (lists[row] as readonly number[]).length <= from + pieceTokens);
      if (ended >= 0) probabilities.set(found.subarray(ended * vocabularySize, pieces.length * vocabularySize), ended * vocabularySize);
    }
    return probabilities;
  }

  private async extendAtOnce(
    firstRow: number,
    lists: readonly (readonly number[])[],
    inverseTemperatures: Float32Array,
  ): Promise<Float32Array> {
    const { shape } = this.parameters;
    const rows = lists.length;
    const width = lists.reduce((longest, list) => Math.max(longest, list.length), 1);
    const tokens = new BigInt64Array(rows * width);
    const positions = new BigInt64Array(rows * width);
    const last = new BigInt64Array(rows);
    let hasPast = false;
    lists.forEach((list, row) => {
      const start = this.cache.lengths[firstRow + row] as number;
      hasPast ||= start > 0;
      for (let index = 0; index < width; index++) {
        if (index < list.length) tokens[row * width + index] = BigInt(list[index] as number);
        positions[row * width + index] = BigInt(Math.min(start + index, shape.maxPositions - 1));
      }
      last[row] = BigInt(row * width + list.length - 1);
    });
    const feeds = this.inputs(tokens, positions, [rows, width], inverseTemperatures);
    feeds["last"] = new ort.Tensor("int64", last, [rows]);
    feeds["newMask"] = causalMask(width, shape.heads / shape.keyValueHeads);
    if (hasPast) this.cache.feed(feeds, firstRow, rows);
    else this.feedEmptyPast(feeds, rows);
    const outputs = await this.extendSession.run(feeds);
    this.cache.write(outputs, { firstRow, counts: lists.map((list) => list.length), width });
    return outputs["probabilities"]?.data as Float32Array;
  }

  /** Appends one token to every row, for which slots are reserved; otherwise as `extend`. */
  async step(nextTokens: ArrayLike<number>, inverseTemperatures: Float32Array): Promise<Float32Array> {
    const { rows, lengths } = this.cache;
    const tokens = new BigInt64Array(rows);
    const positions = new BigInt64Array(rows);
    for (let row = 0; row < rows; row++) {
      tokens[row] = BigInt(nextTokens[row] as number);
      positions[row] = BigInt(lengths[row] as number);
    }
    const feeds = this.inputs(tokens, positions, [rows, 1], inverseTemperatures);
    this.cache.feed(feeds, 0, rows);
    const outputs = await this.stepSession.run(feeds);
    this.cache.write(outputs, { firstRow: 0, counts: new Uint8Array(rows).fill(1), width: 1 });
    return outputs["probabilities"]?.data as Float32Array;
  }

  /** Frees the sessions; the decoder must not be used afterwards. */
  async release(): Promise<void> {
    await this.extendSession.release();
    await this.stepSession.release();
  }

  private inputs(tokens: BigInt64Array, positions: BigInt64Array, size: readonly [number, number], inverseTemperatures: Float32Array) {
    const feeds: Record<string, ort.Tensor> = { ...this.feeds };
    feeds["tokens"] = new ort.Tensor("int64", tokens, [tokens.length]);
    feeds["positions"] = new ort.Tensor("int64", positions, size);
    feeds["inverseTemperature"] = floatTensor(inverseTemperatures, [size[0], 1]);
    return feeds;
  }

  /** A past of one masked slot: kernels do not all take empty tensors. */
  private feedEmptyPast(feeds: Record<string, ort.Tensor>, rows: number): void {
    const { keyValueHeads, headSize, layers } = this.parameters.shape;
    const empty = floatTensor(new Float32Array(rows * keyValueHeads * headSize), [rows, keyValueHeads, 1, headSize]);
    for (let layer = 0; layer < layers; layer++) {
      feeds[pastKeysName(layer)] = empty;
      feeds[pastValuesName(layer)] = empty;
    }
    feeds["pastMask"] = floatTensor(new Float32Array(rows).fill(maskedScore), [rows, 1, 1, 1]);
  }
}
