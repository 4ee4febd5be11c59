/** Log-probabilities, greedy continuations, loss and gradients beside PyTorch's, each as the largest difference found. */
import { join } from "node:path";
import { Decoder } from "../src/engine/embedded/decoder.ts";
import type { AdapterParameters } from "../src/engine/embedded/lora.ts";
import type { Parameters } from "../src/engine/embedded/parameters.ts";
import { SafetensorsFile } from "../src/engine/embedded/safetensors.ts";
import { EmbeddedSampler } from "../src/engine/embedded/sampler.ts";
import { EmbeddedTrainer } from "../src/engine/embedded/trainer.ts";
import type { TrainingExample } from "../src/engine/engine.ts";
import { groupAdvantages } from "../src/grpo/advantages.ts";
import { Rng } from "../src/rng.ts";
import type { SampledTokens } from "../src/types.ts";
import type { LineProcess } from "./line-process.ts";

/** A model as both sides hold it at the moment. */
export interface Pair {
  readonly peer: LineProcess;
  readonly parameters: Parameters;
  readonly adapter?: AdapterParameters | undefined;
  readonly threads: number;
  /** For tensors that are too large for lines of JSON. */
  readonly folder: string;
}

type TokenLists = readonly (readonly number[])[];

export function trainerOf({ parameters, adapter, threads }: Pair): EmbeddedTrainer {
  return new EmbeddedTrainer(parameters.shape, parameters, { threads, microBatchTokens: 512, execution: "auto", adapter });
}

/** The largest absolute difference of two lists. */
function furthest(left: ArrayLike<number>, right: ArrayLike<number>): number {
  if (left.length !== right.length) throw new Error(`${left.length} numbers beside ${right.length}`);
  let most = 0;
  for (let index = 0; index < left.length; index++) {
    const difference = Math.abs((left[index] as number) - (right[index] as number));
    if (!(difference <= most)) most = Number.isNaN(difference) ? Number.POSITIVE_INFINITY : difference;
  }
  return most;
}

async function readTensor(file: SafetensorsFile, name: string): Promise<{ shape: readonly number[]; numbers: Float32Array }> {
  const shape = file.shapeOf(name);
  if (shape === undefined) throw new Error(`${file.path}: the peer wrote no ${name}`);
  const numbers = new Float32Array(shape.reduce((product, size) => product * size, 1));
  await file.readInto(name, shape, numbers);
  return { shape, numbers };
}

/**
 * The log-probability of every token of the sequences (the training graph), and of every entry of the vocabulary after each of their last
 * `last` tokens (the sampling graph), in nats.
 */
export async function scoreParity(pair: Pair, sequences: TokenLists, last: number) {
  const file = join(pair.folder, "scores.safetensors");
  await pair.peer.request({ task: "score", sequences, last, file });
  const theirs = await SafetensorsFile.open(file);
  const trainer = trainerOf(pair);
  const decoder = await Decoder.create(pair.parameters, { threads: pair.threads, adapter: pair.adapter });
  try {
    const own = await trainer.logprobs(sequences.map((ids) => ({ tokenIds: ids, mask: ids.map((_, index) => (index === 0 ? 0 : 1)) })));
    let tokens = 0;
    let vocabulary = 0;
    for (const [index, ids] of sequences.entries()) {
      tokens = Math.max(tokens, furthest(own[index] as number[], (await readTensor(theirs, `logprobs.${index}`)).numbers));
      const { numbers } = await readTensor(theirs, `distributions.${index}`);
      const size = pair.parameters.shape.vocabularySize;
      for (let place = 0; place < last; place++) {
        const distribution = await nextToken(decoder, ids.slice(0, ids.length - last + place + 1));
        vocabulary = Math.max(vocabulary, furthest(distribution, numbers.subarray(place * size, (place + 1) * size)));
      }
    }
    const distributions = sequences.length * last;
    return { sequences: sequences.length, scoredTokens: sequences.flat().length - sequences.length, distributions, tokens, vocabulary };
  } finally {
    await Promise.all([theirs.close(), trainer.close(), decoder.release()]);
  }
}

/** Log-probabilities of the next token [vocabulary]. */
async function nextToken(decoder: Decoder, ids: readonly number[]): Promise<Float32Array> {
  decoder.cache.reserve(1, ids.length);
  const row = decoder.cache.addRow();
  const probabilities = await decoder.extend(row, [ids], Float32Array.of(1));
  decoder.cache.removeRow(row);
  return probabilities.map(Math.log);
}

/** Where a continuation goes another way, and by how much the peer preferred its own token to ours (logits). */
interface Departure {
  readonly prompt: number;
  readonly token: number;
  readonly gap: number;
}

/** Greedy continuations of `tokens` tokens, end-of-text tokens included; ours in one batch, the peer's prompt by prompt. */
export async function greedyParity(pair: Pair, prompts: TokenLists, tokens: number) {
  const outputs = await sample(pair, prompts, { maxTokens: tokens, temperature: 0 });
  const theirs = (await pair.peer.request<{ outputs: number[][] }>({ task: "greedy", prompts, tokens })).outputs;
  const departures: Departure[] = [];
  for (const [prompt, own] of outputs.entries()) {
    const ids = (own[0] as SampledTokens).tokenIds;
    const other = theirs[prompt] as number[];
    const token = other.findIndex((id, index) => id !== ids[index]);
    if (token < 0 && ids.length === other.length) continue;
    if (token < 0 || token >= ids.length) throw new Error(`prompt ${prompt}: ${ids.length} tokens beside ${other.length}`);
    const tokenIds = [...(prompts[prompt] as number[]), ...other.slice(0, token)];
    const { margin: gap } = await pair.peer.request<{ margin: number }>({
      task: "margin",
      tokenIds,
      first: other[token],
      second: ids[token],
    });
    departures.push({ prompt, token, gap });
  }
  return { prompts: prompts.length, tokens, equal: prompts.length - departures.length, departures };
}

async function sample(
  { parameters, adapter, threads }: Pair,
  prompts: TokenLists,
  options: { maxTokens: number; temperature: number; samples?: number },
) {
  const sampler = await EmbeddedSampler.create(parameters, { threads, adapter, prefixCacheMegabytes: 0 });
  try {
    const outputs = await sampler.sample(prompts.map((promptTokenIds, seed) => ({ promptTokenIds, seed, ...options })));
    return outputs.map((output) => {
      if (output instanceof Error) throw output;
      return output;
    });
  } finally {
    await sampler.release();
  }
}

const bounds = { clipLow: 0.2, clipHigh: 0.28, dualClip: 3, klCoefficient: 0.05, entropyCoefficient: 0.01 };

/**
 * A batch as a training step makes it: groups of four sampled completions, advantages normalised within each, weights for the mean over
 * tokens. Old and reference log-probabilities are moved off the sampled ones, so that every branch of the loss occurs.
 */
async function sampledBatch(pair: Pair, prompts: TokenLists, maxTokens: number): Promise<TrainingExample[]> {
  const groups = await sample(pair, prompts, { maxTokens, temperature: 1, samples: 4 });
  const rng = Rng.stream(3, "batch");
  const tokens = groups.flat().reduce((sum, { tokenIds }) => sum + tokenIds.length, 0);
  return groups.flatMap((outputs, group) => {
    const prompt = prompts[group] as readonly number[];
    const advantages = groupAdvantages(outputs.map(() => rng.uniform()));
    return outputs.map((output, index): TrainingExample => {
      const aligned = (value: (logprob: number) => number) => [...prompt.map(() => 0), ...output.logprobs.map(value)];
      // Now and then far enough for the dual clip.
      const old = (logprob: number) => logprob - rng.normal() * (rng.uniform() < 0.15 ? 1.5 : 0.15);
      return {
        policy: "main",
        groupKey: `${group}`,
        tokenIds: [...prompt, ...output.tokenIds],
        mask: aligned(() => 1) as (0 | 1)[],
        logprobs: aligned(old),
        referenceLogprobs: aligned((logprob) => logprob + rng.normal() * 0.3),
        advantages: aligned(() => advantages[index] as number),
        weights: aligned(() => 1 / tokens),
      };
    });
  });
}

/** What both sides tell of a batch. */
interface LossFigures {
  readonly loss: number;
  readonly tokens: number;
  readonly clipFraction: number;
  readonly kl: number;
  readonly entropy: number;
}

/** GRPO's loss on sampled completions, and its gradient by every trained tensor: differences relative to the peer's largest entry of each. */
export async function gradientParity(pair: Pair, prompts: TokenLists, maxTokens: number) {
  const examples = await sampledBatch(pair, prompts, maxTokens);
  const file = join(pair.folder, "gradients.safetensors");
  const other = await pair.peer.request<LossFigures & { dualClipped: number }>({ task: "gradient", examples, options: bounds, file });
  const theirs = await SafetensorsFile.open(file);
  const trainer = trainerOf(pair);
  try {
    const own = await trainer.forwardBackward(examples, { kind: "clipped-surrogate", ...bounds });
    const relative = (field: keyof LossFigures) => Math.abs(own[field] - other[field]) / Math.abs(other[field]);
    const gradients = trainer.gradients();
    const missing = theirs.names.filter((name) => !gradients.has(name));
    let worst = { tensor: "", difference: 0 };
    for (const [name, gradient] of gradients) {
      const { numbers } = await readTensor(theirs, name);
      const scale = numbers.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
      const most = furthest(gradient, numbers);
      const difference = most === 0 ? 0 : most / scale;
      if (difference > worst.difference) worst = { tensor: name, difference };
    }
    if (missing.length > 0) throw new Error(`no gradient of ${missing.join(", ")}, which the peer trains`);
    return {
      sequences: examples.length,
      tokens: own.tokens,
      tensors: gradients.size,
      clipFraction: own.clipFraction,
      dualClipped: other.dualClipped,
      loss: own.loss,
      lossDifference: relative("loss"),
      figuresDifference: Math.max(relative("tokens"), relative("clipFraction"), relative("kl"), relative("entropy")),
      gradientDifference: worst.difference,
      gradientWorst: worst.tensor,
    };
  } finally {
    await Promise.all([theirs.close(), trainer.close()]);
  }
}
