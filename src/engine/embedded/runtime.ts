/** What the graphs of a decoder are given besides weights: rotary tables and attention masks. */
import type * as ort from "onnxruntime-node";
import { floatTensor } from "../../onnx/session.ts";
import type { ModelShape, RopeScaling } from "./architecture.ts";

/** Added to the scores that attention must not see: large enough that their softmax is exactly 0. */
export const maskedScore = -1e9;

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
  const frequencies = Array.from({ length: half }, (_, pair) => scaledFrequency(shape.ropeTheta ** (-pair / half), shape.ropeScaling));
  const cosine = new Float32Array(shape.maxPositions * half);
  const sine = new Float32Array(cosine.length);
  for (let position = 0; position < shape.maxPositions; position++) {
    for (let pair = 0; pair < half; pair++) {
      const angle = position * (frequencies[pair] as number);
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

/** A rotation a position, in radians: short waves stay, long ones are stretched by `factor`, those between are interpolated. */
function scaledFrequency(frequency: number, scaling: RopeScaling | undefined): number {
  if (scaling === undefined) return frequency;
  const { factor, lowFrequencyFactor, highFrequencyFactor, originalMaxPositions } = scaling;
  const turns = (originalMaxPositions * frequency) / (2 * Math.PI);
  if (turns > highFrequencyFactor) return frequency;
  if (turns < lowFrequencyFactor) return frequency / factor;
  const share = (turns - lowFrequencyFactor) / (highFrequencyFactor - lowFrequencyFactor);
  return frequency * (share + (1 - share) / factor);
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
