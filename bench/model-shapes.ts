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

/** Shapes of published models, at their own sizes and with their own vocabularies: SmolLM2-135M and Qwen2.5-0.5B. */
export const publishedShapes = {
  "135M": {
    architecture: "llama",
    vocabularySize: 49152,
    hiddenSize: 576,
    layers: 30,
    heads: 9,
    keyValueHeads: 3,
    headSize: 64,
    intermediateSize: 1536,
    rmsNormEps: 1e-5,
    ropeTheta: 100000,
    maxPositions: 8192,
    qkvBias: false,
    queryKeyNorm: false,
    tiedHead: true,
  },
  "500M": {
    architecture: "qwen2",
    vocabularySize: 151936,
    hiddenSize: 896,
    layers: 24,
    heads: 14,
    keyValueHeads: 2,
    headSize: 64,
    intermediateSize: 4864,
    rmsNormEps: 1e-6,
    ropeTheta: 1000000,
    maxPositions: 32768,
    qkvBias: true,
    queryKeyNorm: false,
    tiedHead: true,
  },
} as const satisfies Readonly<Record<string, ModelShape>>;

/** Name of a published shape. */
export type PublishedModel = keyof typeof publishedShapes;

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
