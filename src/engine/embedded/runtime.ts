/** What every graph needs of onnxruntime: sessions, tensors, the rotary tables and attention masks. */
import * as ort from "onnxruntime-node";
import type { ModelShape } from "./architecture.ts";

/** Added to the scores that attention must not see: large enough that their softmax is exactly 0. */
export const maskedScore = -1e9;

/** A session for a serialised model that computes with `threads` threads. */
export function createSession(model: Uint8Array, threads: number): Promise<ort.InferenceSession> {
  return ort.InferenceSession.create(model, {
    executionProviders: ["cpu"],
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    executionMode: "sequential",
    graphOptimizationLevel: "all",
    // Shapes change from run to run: a pattern for each would only hold memory.
    enableMemPattern: false,
    // Nor an arena, which keeps the largest blocks ever asked for: a fifth less memory at the same speed.
    enableCpuMemArena: false,
    logSeverityLevel: 3,
  });
}

/** A float tensor over `data` (no copy). */
export function floatTensor(data: Float32Array, shape: readonly number[]): ort.Tensor {
  return new ort.Tensor("float32", data, shape);
}

/** An int64 tensor: over `values` where they are 64-bit already (no copy), else with a copy of them. */
export function integerTensor(values: BigInt64Array | readonly number[], shape: readonly number[] = [values.length]): ort.Tensor {
  return new ort.Tensor("int64", values instanceof BigInt64Array ? values : BigInt64Array.from(values, BigInt), shape);
}

/** Cosines and sines of the rotary embedding, each [maxPositions, headSize / 2]; `negativeSine` turns backwards. */
export interface RotaryTables {
  readonly cosine: ort.Tensor;
  readonly sine: ort.Tensor;
  readonly negativeSine: ort.Tensor;
}

/** The tables of a model's shape. */
export function rotaryTables(shape: ModelShape): RotaryTables {
  const half = shape.headSize / 2;
  const size = [shape.maxPositions, half];
  const cosine = new Float32Array(shape.maxPositions * half);
  const sine = new Float32Array(cosine.length);
  for (let position = 0; position < shape.maxPositions; position++) {
    for (let pair = 0; pair < half; pair++) {
      const angle = position * shape.ropeTheta ** (-pair / half);
      cosine[position * half + pair] = Math.cos(angle);
      sine[position * half + pair] = Math.sin(angle);
    }
  }
  return {
    cosine: floatTensor(cosine, size),
    sine: floatTensor(sine, size),
    negativeSine: floatTensor(
      sine.map((value) => -value),
      size,
    ),
  };
}

/**
 * The additive causal mask [1, 1, group * length, length]: 0 where the query (row) sees the key (column), `maskedScore` elsewhere;
 * repeated `group` times, for query heads that share a key head.
 */
export function causalMask(length: number, group = 1): ort.Tensor {
  const mask = new Float32Array(group * length * length);
  for (let row = 0; row < group * length; row++) mask.fill(maskedScore, row * length + (row % length) + 1, (row + 1) * length);
  return floatTensor(mask, [1, 1, group * length, length]);
}
