/** The optimiser steps of one policy within one training step (Eq. 3). */
import type { Config } from "../config.ts";
import type { Loss, OptimStepOptions, TrainableEngine, TrainingExample } from "../engine/engine.ts";
import { ConfigError } from "../errors.ts";
import { type UnweightedExample, withAggregation } from "../grpo/examples.ts";
import type { PolicyName } from "../types.ts";
import { learningRate } from "./learning-rate.ts";
import type { PolicyWiring } from "./wiring.ts";

/** The examples of one optimiser step. */
export interface Minibatch {
  readonly examples: readonly UnweightedExample[];
  /** Examples of the supervised anchor, weights included. */
  readonly anchors?: readonly TrainingExample[];
}

/** The figures of a policy's optimiser steps. */
export interface PolicyUpdate {
  /** Optimiser steps made; minibatches without a single useful example make none. */
  readonly optimiserSteps: number;
  /** Means over the optimiser steps; undefined when none was made. */
  readonly loss?: number;
  readonly gradientNorm?: number;
  /** Token-weighted means. */
  readonly clipFraction?: number;
  readonly kl?: number;
  /** Largest |log-probability in training − at sampling| in the first minibatch, where both speak of the same weights. */
  readonly logprobGap?: number;
  /** Rate of the step's last minibatch, whether or not it was used. */
  readonly learningRate: number;
  /** Tokens with a gradient. */
  readonly tokens: number;
}

/** A policy and what it is to learn from in one training step. */
export interface PolicyPart {
  readonly policy: PolicyName;
  readonly wiring: Pick<PolicyWiring, "engine" | "reference">;
  readonly minibatches: readonly Minibatch[];
}

/**
 * One pass over a policy's minibatches: forward and backward, then an optimiser step each. Weights are normalised over the whole minibatch;
 * examples of constant groups count in that normalisation but are sent only where a KL term needs them. The entropy bonus is therefore
 * one over the tokens of groups that were told apart; it costs no forward pass of its own.
 */
export async function updatePolicy(part: PolicyPart, step: number, config: Config): Promise<PolicyUpdate> {
  return (await updateTogether([part], step, config))[0] as PolicyUpdate;
}

/**
 * As `updatePolicy`, for policies that are one and the same model (a shared backbone): the gradients of all parts add up before each
 * optimiser step, which takes the first part's learning rate.
 */
export async function updateTogether(parts: readonly PolicyPart[], step: number, config: Config): Promise<PolicyUpdate[]> {
  const { training } = config;
  const [first] = parts as [PolicyPart];
  const { learningRate: peak, entropyCoefficient: _, ...adam } = training[first.policy];
  const perStep = Math.ceil(training.questionsPerStep / training.questionsPerMinibatch);
  const rate = (minibatch: number) => learningRate(peak, (step - 1) * perStep + minibatch, training.steps * perStep, training);
  const tallies = parts.map((): Tally => ({ loss: 0, clipped: 0, kl: 0, tokens: 0, steps: 0, gradientNorm: 0 }));
  const minibatches = Math.max(...parts.map((part) => part.minibatches.length));
  for (let index = 0; index < minibatches; index++) {
    const used: Tally[] = [];
    for (const [place, part] of parts.entries()) {
      const tally = tallies[place] as Tally;
      if (await addGradients(part, index, config, tally)) used.push(tally);
    }
    if (used.length === 0) continue;
    const options: OptimStepOptions = { ...adam, learningRate: rate(index) };
    const { gradientNorm } = await first.wiring.engine.optimStep(options);
    for (const tally of used) {
      tally.gradientNorm += gradientNorm;
      tally.steps++;
    }
  }
  return tallies.map((tally) => summed(tally, rate(minibatches - 1)));
}

/** Sums over a policy's minibatches. */
interface Tally {
  loss: number;
  gradientNorm: number;
  clipped: number;
  kl: number;
  tokens: number;
  steps: number;
  logprobGap?: number;
}

/** Adds the gradients of one minibatch; false when there is nothing to learn from it. */
async function addGradients(part: PolicyPart, index: number, config: Config, tally: Tally): Promise<boolean> {
  const { grpo } = config;
  const { policy, wiring, minibatches } = part;
  const { examples = [], anchors = [] } = minibatches[index] ?? {};
  const weighted = withAggregation(examples, grpo.aggregation);
  const sent = grpo.klCoefficient > 0 ? weighted : weighted.filter(({ advantages }) => advantages.some((advantage) => advantage !== 0));
  if (sent.length > 0) {
    const scored = grpo.klCoefficient > 0 ? await withReference(policy, wiring.reference, sent) : sent;
    const result = await wiring.engine.forwardBackward(scored, lossOf(policy, config));
    if (index === 0) tally.logprobGap = largestGap(scored, result.logprobs);
    tally.loss += result.loss;
    tally.clipped += result.clipFraction * result.tokens;
    tally.kl += result.kl * result.tokens;
    tally.tokens += result.tokens;
  }
  if (anchors.length > 0) tally.loss += (await wiring.engine.forwardBackward(anchors, { kind: "cross-entropy" })).loss;
  return sent.length > 0 || anchors.length > 0;
}

function lossOf(policy: PolicyName, { grpo, training }: Config): Loss {
  return {
    kind: "clipped-surrogate",
    clipLow: grpo.clipLow,
    clipHigh: grpo.clipHigh,
    ...(grpo.dualClip === null ? {} : { dualClip: grpo.dualClip }),
    klCoefficient: grpo.klCoefficient,
    entropyCoefficient: training[policy].entropyCoefficient,
  };
}

function summed({ steps, tokens, logprobGap, ...sums }: Tally, rate: number): PolicyUpdate {
  const made = steps > 0 ? { loss: sums.loss / steps, gradientNorm: sums.gradientNorm / steps } : {};
  const scored = tokens > 0 ? { clipFraction: sums.clipped / tokens, kl: sums.kl / tokens, logprobGap } : {};
  return { optimiserSteps: steps, ...made, ...scored, learningRate: rate, tokens };
}

/** Adds the frozen policy's log-probabilities, which the k3 estimator compares with. */
async function withReference(
  policy: PolicyName,
  reference: Pick<TrainableEngine, "logprobs"> | undefined,
  examples: readonly TrainingExample[],
): Promise<TrainingExample[]> {
  if (!reference)
    throw new ConfigError(`grpo.klCoefficient > 0 needs a reference engine for the ${policy} policy: set it to 0 or supply one`);
  const logprobs = await reference.logprobs(examples);
  return examples.map((example, index) => ({ ...example, referenceLogprobs: logprobs[index] ?? [] }));
}

function largestGap(examples: readonly TrainingExample[], logprobs: readonly (readonly number[])[]): number {
  let gap = 0;
  for (const [row, { mask, logprobs: sampled }] of examples.entries()) {
    for (const [position, trained] of mask.entries()) {
      if (trained === 1) gap = Math.max(gap, Math.abs((logprobs[row]?.[position] ?? 0) - (sampled[position] ?? 0)));
    }
  }
  return gap;
}
