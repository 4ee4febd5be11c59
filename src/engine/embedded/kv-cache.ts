/** Keys and values of the sequences being sampled, in buffers that the graphs take as inputs without a copy. */
import type * as ort from "onnxruntime-node";
import { floatTensor } from "../../onnx/session.ts";
import type { ModelShape } from "./architecture.ts";
import { newKeysName, newValuesName, pastKeysName, pastValuesName } from "./decode-graph.ts";
import { maskedScore } from "./runtime.ts";

/** Slots are added in blocks of this many: every step reads all slots, every growth moves all rows. */
const slotBlock = 32;

/** Which new tokens belong to a row: `counts[i]` of the `width` new tokens of row `firstRow + i` are valid. */
export interface NewTokens {
  readonly firstRow: number;
  readonly counts: ArrayLike<number>;
  readonly width: number;
}

/**
 * Rows (sequences) of slots (tokens): per layer [rows, keyValueHeads, slots, headSize]. Rows are added at the end and removed by
 * moving the last one into the gap, so that the rows in use always lie together.
 */
export class KeyValueCache {
  rows = 0;
  slots = 0;
  /** Valid tokens a row. */
  readonly lengths: number[] = [];
  private readonly buffers: Float32Array[];
  /** Additive mask [rows, slots]. */
  private mask = new Float32Array(0);
  private readonly layers: number;
  private readonly heads: number;
  private readonly headSize: number;

  constructor(shape: ModelShape) {
    this.layers = shape.layers;
    this.heads = shape.keyValueHeads;
    this.headSize = shape.headSize;
    this.buffers = Array.from({ length: 2 * shape.layers }, () => new Float32Array(0));
  }

  /** Room for `rows` rows of `slots` tokens; contents stay. */
  reserve(rows: number, slots: number): void {
    const wanted = Math.max(this.slots, Math.ceil(slots / slotBlock) * slotBlock);
    const floats = rows * this.heads * wanted * this.headSize;
    for (let index = 0; index < this.buffers.length; index++) {
      let buffer = this.buffers[index] as Float32Array;
      if (buffer.length < floats) {
        const larger = new Float32Array(Math.max(floats, Math.ceil(buffer.length * 1.25)));
        larger.set(buffer.subarray(0, this.rows * this.heads * this.slots * this.headSize));
        buffer = larger;
        this.buffers[index] = buffer;
      }
      if (wanted !== this.slots) this.spread(buffer, wanted);
    }
    if (wanted !== this.slots || this.mask.length < rows * wanted) {
      this.slots = wanted;
      this.mask = new Float32Array(rows * wanted);
      for (let row = 0; row < this.rows; row++) this.resetMask(row);
    }
  }

  /** Moves every row's heads to their places under a larger number of slots, last first. */
  private spread(buffer: Float32Array, slots: number): void {
    const used = this.slots * this.headSize;
    for (let block = this.rows * this.heads - 1; block > 0; block--) {
      buffer.copyWithin(block * slots * this.headSize, block * used, (block + 1) * used);
    }
  }

  /** Adds an empty row, for which room was reserved, and returns its index. */
  addRow(): number {
    const row = this.rows++;
    this.lengths[row] = 0;
    this.resetMask(row);
    return row;
  }

  /** Makes row `to` a copy of row `from`. */
  copyRow(from: number, to: number): void {
    const length = (this.lengths[from] as number) * this.headSize;
    const stride = this.slots * this.headSize;
    for (const buffer of this.buffers) {
      for (let head = 0; head < this.heads; head++) {
        const source = (from * this.heads + head) * stride;
        buffer.copyWithin((to * this.heads + head) * stride, source, source + length);
      }
    }
    this.lengths[to] = this.lengths[from] as number;
    this.resetMask(to);
  }

  /** Removes a row; the last row, if it is another one, takes its index. */
  removeRow(row: number): void {
    const last = this.rows - 1;
    if (row !== last) this.copyRow(last, row);
    this.rows = last;
    this.lengths.length = last;
    if (last === 0) this.slots = 0;
  }

  /** Stores the new tokens' keys and values that a graph gave out. */
  write(outputs: ort.InferenceSession.ReturnType, tokens: NewTokens): void {
    const { heads, headSize, slots } = this;
    for (let layer = 0; layer < this.layers; layer++) {
      for (const part of [0, 1] as const) {
        const source = outputs[part === 0 ? newKeysName(layer) : newValuesName(layer)]?.data as Float32Array;
        const target = this.buffers[2 * layer + part] as Float32Array;
        for (let index = 0; index < tokens.counts.length; index++) {
          const count = tokens.counts[index] as number;
          const row = tokens.firstRow + index;
          for (let token = 0; token < count; token++) {
            let from = (index * tokens.width + token) * heads * headSize;
            let to = (row * heads * slots + (this.lengths[row] as number) + token) * headSize;
            for (let head = 0; head < heads; head++) {
              for (let offset = 0; offset < headSize; offset++) target[to + offset] = source[from + offset] as number;
              from += headSize;
              to += slots * headSize;
            }
          }
        }
      }
    }
    for (let index = 0; index < tokens.counts.length; index++) {
      const row = tokens.firstRow + index;
      const start = this.lengths[row] as number;
      const end = start + (tokens.counts[index] as number);
      this.mask.fill(0, row * slots + start, row * slots + end);
      this.lengths[row] = end;
    }
  }

  /** Puts the past of `count` rows into a graph's inputs. */
  feed(feeds: Record<string, ort.Tensor>, firstRow: number, count: number): void {
    const { heads, slots, headSize } = this;
    const row = heads * slots * headSize;
    const size = [count, heads, slots, headSize];
    for (let layer = 0; layer < this.layers; layer++) {
      const view = (part: number) =>
        floatTensor((this.buffers[2 * layer + part] as Float32Array).subarray(firstRow * row, (firstRow + count) * row), size);
      feeds[pastKeysName(layer)] = view(0);
      feeds[pastValuesName(layer)] = view(1);
    }
    feeds["pastMask"] = floatTensor(this.mask.subarray(firstRow * slots, (firstRow + count) * slots), [count, 1, 1, slots]);
  }

  /** The first `length` tokens of a row as [layers, keys and values, heads, length, headSize]. */
  export(row: number, length: number): Float32Array {
    const block = length * this.headSize;
    const stride = this.slots * this.headSize;
    const result = new Float32Array(this.buffers.length * this.heads * block);
    let to = 0;
    for (const buffer of this.buffers) {
      for (let head = 0; head < this.heads; head++) {
        const from = (row * this.heads + head) * stride;
        result.set(buffer.subarray(from, from + block), to);
        to += block;
      }
    }
    return result;
  }

  /** Fills an empty row with the first `length` of the `total` tokens that an `export` holds. */
  import(row: number, exported: Float32Array, total: number, length: number): void {
    const stride = this.slots * this.headSize;
    let from = 0;
    for (const buffer of this.buffers) {
      for (let head = 0; head < this.heads; head++) {
        buffer.set(exported.subarray(from, from + length * this.headSize), (row * this.heads + head) * stride);
        from += total * this.headSize;
      }
    }
    this.lengths[row] = length;
    this.resetMask(row);
  }

  private resetMask(row: number): void {
    const start = row * this.slots;
    const end = start + (this.lengths[row] as number);
    this.mask.fill(0, start, end);
    this.mask.fill(maskedScore, end, start + this.slots);
  }
}
