import type * as ort from "onnxruntime-node";
import { floatTensor, integerTensor } from "../../onnx/session.ts";
import type { HeadVariant } from "./head-loss.ts";
import type { MicroBatch } from "./micro-batch.ts";
import { causalMask, type RotaryTables } from "./runtime.ts";

/** Log-probability and entropy of each trained token of a micro-batch. */
export interface TokenScores {
  readonly logprobs: Float32Array;
  readonly entropies: Float32Array;
}

/** Runs micro-batches through a model, in one of the two ways. */
export interface Executor {
  /** Forward only. */
  score(batch: MicroBatch): Promise<TokenScores>;
  /** Forward and backward with the head's `terms`; adds to the gradients of the parameters. */
  train(batch: MicroBatch, terms: Float32Array, entropyBonus: boolean): Promise<TokenScores>;
  /** Frees the sessions. */
  release(): Promise<void>;
}

/** Numbers in one chunk of probabilities: what stays in the cache, but no fewer rows than a matrix product needs. */
const chunkNumbers = 1 << 20;
const minimumChunkRows = 128;

/** Rows of one chunk of probabilities. */
export function chunkRows(vocabularySize: number): number {
  return Math.max(minimumChunkRows, Math.floor(chunkNumbers / vocabularySize));
}

/** The head variant for a micro-batch: the number of chunks is a power of two, so that few sessions are made. */
export function headVariant(batch: MicroBatch, vocabularySize: number, entropyBonus: boolean): HeadVariant {
  const chunks = 2 ** Math.max(0, Math.ceil(Math.log2(batch.rows.length / chunkRows(vocabularySize))));
  return { chunks, masked: batch.grammar !== undefined, entropyBonus };
}

/** Head inputs of a micro-batch. */
export function headFeeds(batch: MicroBatch, vocabularySize: number, termWidth: number, terms?: Float32Array): Record<string, ort.Tensor> {
  const count = batch.rows.length;
  return {
    rows: integerTensor(batch.rows, [count]),
    labels: integerTensor(batch.labels, [count, 1]),
    ...(terms && { terms: floatTensor(terms, [count, termWidth]) }),
    ...(batch.grammar && {
      maskTable: floatTensor(batch.grammar.table, [batch.grammar.tableRows, vocabularySize]),
      maskIndex: integerTensor(batch.grammar.index, [count]),
    }),
  };
}

/** The inputs of `layerContext` and `selectedQueries`. */
export function positionFeeds(batch: MicroBatch, tables: RotaryTables, causalMasks: CausalMasks): Record<string, ort.Tensor> {
  const { length, selected } = batch;
  const selectedSize = [batch.batch, selected.count];
  return {
    positions: integerTensor(batch.positions, [batch.batch, length]),
    mask: batch.mask ? floatTensor(batch.mask, [batch.batch, 1, length, length]) : causalMasks.get(length),
    ...tables,
    selectedRows: integerTensor(selected.rows),
    selectedPositions: integerTensor(selected.positions, selectedSize),
    selectedMaskRows: integerTensor(selected.maskRows, selectedSize),
  };
}

/** Causal masks by length; the largest ones are not kept. */
export class CausalMasks {
  private readonly masks = new Map<number, ort.Tensor>();
  private numbers = 0;

  constructor(private readonly keepNumbers = 1 << 23) {}

  get(length: number): ort.Tensor {
    let mask = this.masks.get(length);
    if (mask === undefined) {
      mask = causalMask(length);
      this.numbers += length * length;
      if (this.numbers > this.keepNumbers) {
        this.masks.clear();
        this.numbers = length * length;
      }
      this.masks.set(length, mask);
    }
    return mask;
  }
}

/** Sessions by name, made when first asked for. */
export class SessionCache {
  private readonly sessions = new Map<string, Promise<ort.InferenceSession>>();

  get(name: string, create: () => Promise<ort.InferenceSession>): Promise<ort.InferenceSession> {
    let session = this.sessions.get(name);
    if (session === undefined) {
      session = create();
      this.sessions.set(name, session);
    }
    return session;
  }

  async release(): Promise<void> {
    for (const session of this.sessions.values()) await (await session).release();
    this.sessions.clear();
  }
}

/** target[rowIndex[i]] += source[i], for rows of `width` numbers. */
export function scatterAddRows(target: Float32Array, rowIndex: BigInt64Array, source: Float32Array, width: number): void {
  for (let row = 0; row < rowIndex.length; row++) {
    const to = Number(rowIndex[row]) * width;
    const from = row * width;
    for (let column = 0; column < width; column++) {
      target[to + column] = (target[to + column] as number) + (source[from + column] as number);
    }
  }
}

/** The numbers of an output. */
export function floats(outputs: ort.InferenceSession.OnnxValueMapType, name: string): Float32Array {
  return (outputs[name] as ort.Tensor).data as Float32Array;
}
