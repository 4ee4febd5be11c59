/** Weights as bytes, for sampling from a frozen model: a token's step reads a quarter of the memory. */
import { type GraphBuilder, microsoft, type Value } from "../../onnx/onnx-model.ts";
import { graphParameters } from "./graph-parameters.ts";
import type { Parameters } from "./parameters.ts";

/** Numbers that share a scale, along the inner axis. */
const blockSize = 32;
/** The byte that stands for 0. */
const zeroPoint = 128;

/** A matrix W [rows, columns] as W[r, c] ~ scale of its block * (byte - 128). The last block of a row is filled up with zeros. */
export interface Int8Matrix {
  readonly rows: number;
  readonly columns: number;
  /** [rows, blocks, 32]. */
  readonly bytes: Uint8Array;
  /** [rows, blocks]. */
  readonly scales: Float32Array;
}

/** Rounds every block of 32 numbers to multiples of 1/127 of its largest magnitude. */
export function toInt8(weights: Float32Array, rows: number, columns: number): Int8Matrix {
  const blocks = Math.ceil(columns / blockSize);
  const bytes = new Uint8Array(rows * blocks * blockSize).fill(zeroPoint);
  const scales = new Float32Array(rows * blocks);
  for (let block = 0; block < rows * blocks; block++) {
    const row = Math.floor(block / blocks);
    const first = (block % blocks) * blockSize;
    const values = weights.subarray(row * columns + first, row * columns + Math.min(columns, first + blockSize));
    let largest = 0;
    for (const value of values) largest = Math.max(largest, Math.abs(value));
    if (largest === 0) continue;
    scales[block] = largest / 127;
    const inverse = 127 / largest;
    for (let index = 0; index < values.length; index++) {
      bytes[block * blockSize + index] = Math.round((values[index] as number) * inverse) + zeroPoint;
    }
  }
  return { rows, columns, bytes, scales };
}

/** All matrices of a model that its sampling multiplies with, by their names in the graphs. */
export function int8Matrices(parameters: Parameters): Map<string, Int8Matrix> {
  const { shape, feeds } = parameters;
  const matrices = new Map<string, Int8Matrix>();
  for (const { name, shape: size } of graphParameters(shape)) {
    const [rows, columns] = size;
    // An embedding beside a head of its own is only looked up.
    if (rows === undefined || columns === undefined || (name === "embedding" && !shape.tiedHead)) continue;
    matrices.set(name, toInt8(feeds[name]?.data as Float32Array, rows, columns));
  }
  return matrices;
}

/** Bytes that this takes of a model of so many parameters. */
export const int8Bytes = (parameters: number) => parameters * (1 + 4 / blockSize);

/**
 * x [N, columns] -> x W^T [N, rows], computed with x in blocks of bytes, too. The matrix becomes a constant of the graph, because
 * onnxruntime rearranges only constants for its fast kernel.
 */
export function int8Product(graph: GraphBuilder, x: Value, name: string, { rows, columns, bytes, scales }: Int8Matrix): Value {
  const blocks = Math.ceil(columns / blockSize);
  const matrix = graph.data(`${name}.int8`, "uint8", [rows, blocks, blockSize], bytes);
  const scale = graph.data(`${name}.scales`, "float", [rows, blocks], new Uint8Array(scales.buffer));
  const attributes = { K: columns, N: rows, bits: 8, block_size: blockSize, accuracy_level: 4 };
  return graph.apply("MatMulNBits", [x, matrix, scale], attributes, microsoft);
}
