/** What a model will take of memory, before any of it is loaded. */

import type { LoraShape } from "../engine.ts";
import { elementCount, type ModelShape, parameterCount } from "./architecture.ts";
import { cacheFloatsPerToken } from "./decode-graph.ts";
import { chunkRows } from "./executor.ts";
import { int8Bytes } from "./int8-weights.ts";
import { adapterSpecs } from "./lora.ts";
import { attentionNumbers } from "./sampler.ts";

/** How a policy is to be run. */
export interface MemoryQuestion {
  readonly shape: ModelShape;
  readonly lora?: LoraShape | undefined;
  readonly trainable: boolean;
  readonly execution: "auto" | "whole-graph" | "layer-by-layer";
  /** Tokens (padding included) in one forward-backward pass. */
  readonly microBatchTokens: number;
  /** Longest sequence, in tokens: a pass holds at least one. */
  readonly longestSequence: number;
  /** Sequences sampled at once, at most. */
  readonly sampledSequences: number;
  readonly prefixCacheMegabytes: number;
  /** int8: a copy in bytes besides, for every policy. Default f32. */
  readonly samplingWeights?: "f32" | "int8";
  /** Whether the weights are another policy's, counted there. Default false. */
  readonly sharesWeights?: boolean;
}

/** Bytes by what they are for. */
export interface MemoryPlan {
  readonly execution: "whole-graph" | "layer-by-layer";
  readonly weights: number;
  /** Gradients and both moments of AdamW. */
  readonly optimiser: number;
  /** Of the forward and backward pass, head included; 0 where nothing is trained. */
  readonly activations: number;
  /** Of the sequences being sampled, and kept prefixes. */
  readonly keyValueCache: number;
  /** Prefill and the probabilities of a step. */
  readonly sampling: number;
  /** The most at any moment: activations and what sampling needs besides its caches do not meet. */
  readonly total: number;
}

/** Models below about 50 million parameters always run as one graph: faster, and small enough. */
export const layerByLayerParameters = 50e6;

/** Node and onnxruntime. */
const baseBytes = 80 * 2 ** 20;
/** The graphs of one layer, as onnxruntime keeps them. */
const graphBytes = 6 * 2 ** 20;
/** What the formulas below leave out (copies that the runtime makes, fragmentation), as measured on models of 10 to 135 million parameters. */
const margin = 1.2;

/** Activations of a micro-batch that a larger model may keep at once, to save itself the second forward pass. */
export const wholeGraphBytes = 3 * 2 ** 30;

/** Tokens of a micro-batch of a larger model under `auto`, where its rows are no longer: more make it no faster, and need more memory. */
const fittingTokens = 512;

/** Tokens (padding included) of one pass, at most, where rows allow. */
export function passTokens(shape: ModelShape, execution: MemoryQuestion["execution"], microBatchTokens: number): number {
  return chosenExecution(shape, execution) === "fitting" ? Math.min(microBatchTokens, fittingTokens) : microBatchTokens;
}

/** What `auto` stands for: `fitting` decides anew for every micro-batch. */
export function chosenExecution(shape: ModelShape, execution: MemoryQuestion["execution"]): MemoryPlan["execution"] | "fitting" {
  if (execution !== "auto") return execution;
  return parameterCount(shape) >= layerByLayerParameters ? "fitting" : "whole-graph";
}

/** Whether the activations of a micro-batch of `tokens` tokens (padding included) in rows of `row` stay within the limit as one graph. */
export function fitsWholeGraph(
  shape: ModelShape,
  lora: LoraShape | undefined,
  tokens: number,
  row: number,
  limitBytes = wholeGraphBytes,
): boolean {
  return margin * activationBytes(shape, lora, tokens, row, "whole-graph") <= limitBytes;
}

/** Estimates a policy's memory. */
export function planMemory(question: MemoryQuestion): MemoryPlan {
  const { shape, lora, trainable, sampledSequences, longestSequence, prefixCacheMegabytes } = question;
  const tokens = Math.max(passTokens(shape, question.execution, question.microBatchTokens), longestSequence);
  const chosen = chosenExecution(shape, question.execution);
  const fits = chosen === "fitting" && fitsWholeGraph(shape, lora, tokens, longestSequence);
  const execution = chosen !== "fitting" ? chosen : fits ? "whole-graph" : "layer-by-layer";
  const own =
    lora === undefined ? parameterCount(shape) : adapterSpecs(shape, lora).reduce((sum, spec) => sum + elementCount(spec.shape), 0);
  const copy = question.samplingWeights === "int8" ? int8Bytes(parameterCount(shape)) : 0;
  const weights = copy + 4 * ((question.sharesWeights ? 0 : parameterCount(shape)) + (lora === undefined ? 0 : 2 * own));
  const optimiser = trainable ? 12 * own : 0;
  const kept = margin * activationBytes(shape, lora, tokens, longestSequence, execution);
  // Where the longest sequences go layer by layer, shorter ones still go as one graph.
  const activations = trainable ? (chosen === "fitting" && !fits ? Math.max(kept, wholeGraphBytes) : kept) : 0;
  const tokenBytes = 4 * cacheFloatsPerToken(shape);
  // Buffers grow by a quarter at a time.
  const cached = 1.25 * sampledSequences * longestSequence * tokenBytes;
  const keyValueCache = Math.min(cached, samplingCacheBytes) + prefixCacheMegabytes * 2 ** 20;
  const sampling = margin * samplingBytes(shape, sampledSequences, longestSequence);
  const base = graphBytes * shape.layers + (question.sharesWeights ? 0 : baseBytes);
  const total = base + weights + optimiser + keyValueCache + Math.max(activations, sampling);
  return { execution, weights, optimiser, activations, keyValueCache, sampling, total };
}

/** The sampler's own limit for the sequences of a batch, and what its last growth may add. */
const samplingCacheBytes = 1.25 * 512 * 2 ** 20;

/** Of a forward and backward pass over `tokens` tokens in rows of `row`. */
function activationBytes(
  shape: ModelShape,
  lora: LoraShape | undefined,
  tokens: number,
  row: number,
  execution: MemoryPlan["execution"],
): number {
  const { hiddenSize, heads, keyValueHeads, headSize, intermediateSize, layers, vocabularySize } = shape;
  // Kept for the backward pass, a token and layer: norms and residuals, queries, keys and values before and after rotation, the feed-forward parts.
  const vectors =
    4 * hiddenSize + (3 * heads + 4 * keyValueHeads) * headSize + 5 * intermediateSize + (lora ? lora.targets.length * lora.rank : 0);
  const attention = heads * row;
  const backward = 2 * vectors + attention;
  const perToken =
    execution === "whole-graph" ? layers * (vectors + attention) + backward : layers * hiddenSize + vectors + attention + backward;
  const head = chunkRows(vocabularySize) * vocabularySize * 4 + tokens * hiddenSize * 4;
  return 4 * (tokens * perToken + head);
}

function samplingBytes(shape: ModelShape, sequences: number, longest: number): number {
  const { heads, hiddenSize, intermediateSize, vocabularySize } = shape;
  const prefillTokens = Math.min(4096, sequences * longest);
  // Scores, their softmax and the join of past and new.
  const scores = 3 * Math.min(attentionNumbers, heads * prefillTokens * longest);
  const probabilities = 2 * sequences * vocabularySize;
  return 4 * (prefillTokens * (4 * hiddenSize + 4 * intermediateSize) + scores + probabilities);
}
