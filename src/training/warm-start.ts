/**
 * Supervised warm start: cross-entropy over demonstrations through the same engine contract that reinforcement learning
 * uses. The demonstrations are the caller's; this file is the loop.
 */
import type { TrainableEngine, TrainingExample } from "../engine/engine.ts";
import type { PolicyName } from "../types.ts";

/** A token sequence with a loss weight (and optionally another target) for every position; weight 0 is context only. */
export interface Demonstration {
  readonly tokenIds: readonly number[];
  readonly weights: readonly number[];
  /** Position t is trained towards targets[t] instead of tokenIds[t]; -1: towards tokenIds[t]. */
  readonly targets?: readonly number[];
}

/** The figures of one step. */
export interface WarmStartReport {
  readonly step: number;
  readonly loss: number;
  readonly gradientNorm: number;
  /** Tokens of the step's demonstrations. */
  readonly tokens: number;
}

/** What is trained on what, how long and how fast. */
export interface WarmStartOptions {
  readonly engine: TrainableEngine;
  readonly policy: PolicyName;
  readonly steps: number;
  /** Steps that the engine has behind it (its state was loaded); the schedule goes on from there. Default 0. */
  readonly stepsDone?: number;
  /** The demonstrations of one step (from 0). */
  readonly batch: (step: number) => Promise<readonly Demonstration[]>;
  readonly learningRate: number;
  readonly warmupSteps: number;
  /** Share of the steps at the peak rate; the rest decays linearly to a tenth of it. */
  readonly constantFraction: number;
  /** Called after every step (counted from 1); `stop` ends the training there. */
  readonly onStep?: (report: WarmStartReport) => Promise<"go on" | "stop">;
  readonly signal?: AbortSignal;
}

/** Position in the schedule -> learning rate: linear warm-up, constant, linear decay to a tenth. */
export function warmStartRate(
  step: number,
  options: Pick<WarmStartOptions, "steps" | "learningRate" | "warmupSteps" | "constantFraction">,
): number {
  const warm = Math.min(1, (step + 1) / options.warmupSteps);
  const progress = (step + 1) / options.steps;
  const decay =
    progress <= options.constantFraction ? 1 : Math.max(0.1, 1 - (progress - options.constantFraction) / (1 - options.constantFraction));
  return options.learningRate * warm * decay;
}

/** One batch as cross-entropy examples whose weights are normalised to sum to 1. */
export function demonstrationExamples(policy: PolicyName, batch: readonly Demonstration[]): TrainingExample[] {
  let total = 0;
  for (const { weights } of batch) for (let position = 1; position < weights.length; position++) total += weights[position] as number;
  return batch.map(({ tokenIds, weights, targets }, index) => ({
    policy,
    groupKey: `demonstration-${index}`,
    tokenIds,
    mask: weights.map((weight, position) => (position > 0 && weight > 0 ? 1 : 0)),
    logprobs: tokenIds.map(() => 0),
    advantages: tokenIds.map(() => 0),
    weights: weights.map((weight, position) => (position > 0 ? weight / total : 0)),
    ...(targets ? { targets } : {}),
  }));
}

/** Trains up to `steps` optimiser steps (or until `onStep` says stop) and publishes the weights at the end. */
export async function warmStart(options: WarmStartOptions): Promise<void> {
  const first = options.stepsDone ?? 0;
  let upcoming = first < options.steps ? options.batch(first) : Promise.resolve([]);
  for (let step = first; step < options.steps && !options.signal?.aborted; step++) {
    const examples = demonstrationExamples(options.policy, await upcoming);
    const computing = options.engine.forwardBackward(examples, { kind: "cross-entropy" });
    // The next demonstrations are written while the engine's thread computes.
    upcoming = step + 1 < options.steps ? options.batch(step + 1) : upcoming;
    const { loss } = await computing;
    const { gradientNorm } = await options.engine.optimStep({
      learningRate: warmStartRate(step, options),
      beta1: 0.9,
      beta2: 0.98,
      eps: 1e-8,
      weightDecay: 0.01,
      maxGradNorm: 1,
    });
    const tokens = examples.reduce((sum, example) => sum + example.tokenIds.length, 0);
    if ((await options.onStep?.({ step: step + 1, loss, gradientNorm, tokens })) === "stop") break;
  }
  await options.engine.publish();
}
