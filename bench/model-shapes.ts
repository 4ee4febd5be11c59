/** The models that the benchmarks run, and how many floating-point operations they take. */
import { type ModelShape, parameterCount } from "../src/engine/embedded/architecture.ts";

function llama(hiddenSize: number, layers: number, headSize: number, intermediateSize: number): ModelShape {
  const heads = hiddenSize / headSize;
  return {
    architecture: "llama",
    vocabularySize: 2048,
    hiddenSize,
    layers,
    heads,
    keyValueHeads: heads,
    headSize,
    intermediateSize,
    rmsNormEps: 1e-6,
    ropeTheta: 10000,
    maxPositions: 512,
    qkvBias: false,
    queryKeyNorm: false,
    tiedHead: true,
  };
}

/** By name, smallest first: Llama, vocabulary 2048, tied head; heads of 64, of 32 in the model of the GRPO step. */
export const benchmarkModels = {
  "1.1M": llama(128, 4, 32, 384),
  "1.7M": llama(192, 3, 64, 512),
  "3.7M": llama(256, 4, 64, 704),
  "10M": llama(384, 5, 64, 1024),
} as const;

/** Name of a benchmark model. */
export type BenchmarkModel = keyof typeof benchmarkModels;

/**
 * Floating-point operations of the matrix products for `tokens` tokens forward, each seeing `context` tokens on average: two for each
 * weight that takes part in a product (the embedding counts once, as the head), four for each number of a seen key. Backward takes twice as many.
 */
export function forwardFlops(shape: ModelShape, tokens: number, context: number): number {
  const norms = (2 * shape.layers + 1) * shape.hiddenSize;
  const embedding = shape.tiedHead ? 0 : shape.vocabularySize * shape.hiddenSize;
  const products = parameterCount(shape) - norms - embedding;
  return tokens * (2 * products + 4 * shape.layers * shape.heads * shape.headSize * context);
}
