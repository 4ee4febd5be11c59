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

/**
 * One pass over the minibatches: forward and backward, then an optimiser step each. Weights are normalised over the whole minibatch;
 * examples of constant groups count in that normalisation but are sent only where a KL term needs them. The entropy bonus is therefore
 * one over the tokens of groups that were told apart; it costs no forward pass of its own.
 */
export async function updatePolicy(
  policy: PolicyName,
  { engine, reference }: Pick<PolicyWiring, "engine" | "reference">,
  minibatches: readonly Minibatch[],
  step: number,
  config: Config,
): Promise<PolicyUpdate> {
  const { grpo, training } = config;
  const { learningRate: peak, entropyCoefficient, ...adam } = training[policy];
  const loss: Loss = {
    kind: "clipped-surrogate",
    clipLow: grpo.clipLow,
    clipHigh: grpo.clipHigh,
    ...(grpo.dualClip === null ? {} : { dualClip: grpo.dualClip }),
    klCoefficient: grpo.klCoefficient,
    entropyCoefficient,
  };
  const perStep = Math.ceil(training.questionsPerStep / training.questionsPerMinibatch);
  const rate = (minibatch: number) => learningRate(peak, (step - 1) * perStep + minibatch, training.steps * perStep, training);
  const sums = { steps: 0, loss: 0, gradientNorm: 0, clipped: 0, kl: 0, tokens: 0 };
  let logprobGap: number | undefined;
  for (const [index, minibatch] of minibatches.entries()) {
    const weighted = withAggregation(minibatch.examples, grpo.aggregation);
    const sent = grpo.klCoefficient > 0 ? weighted : weighted.filter(({ advantages }) => advantages.some((advantage) => advantage !== 0));
    const anchors = minibatch.anchors ?? [];
    if (sent.length === 0 && anchors.length === 0) continue;
    if (sent.length > 0) {
      const examples = grpo.klCoefficient > 0 ? await withReference(policy, reference, sent) : sent;
      const result = await engine.forwardBackward(examples, loss);
      if (index === 0) logprobGap = largestGap(examples, result.logprobs);
      sums.loss += result.loss;
      sums.clipped += result.clipFraction * result.tokens;
      sums.kl += result.kl * result.tokens;
      sums.tokens += result.tokens;
    }
    if (anchors.length > 0) sums.loss += (await engine.forwardBackward(anchors, { kind: "cross-entropy" })).loss;
    const options: OptimStepOptions = { ...adam, learningRate: rate(index) };
    sums.gradientNorm += (await engine.optimStep(options)).gradientNorm;
    sums.steps++;
  }
  const made = sums.steps > 0 ? { loss: sums.loss / sums.steps, gradientNorm: sums.gradientNorm / sums.steps } : {};
  const scored = sums.tokens > 0 ? { clipFraction: sums.clipped / sums.tokens, kl: sums.kl / sums.tokens, logprobGap } : {};
  return { optimiserSteps: sums.steps, ...made, ...scored, learningRate: rate(minibatches.length - 1), tokens: sums.tokens };
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
