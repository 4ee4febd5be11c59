/** From training examples and a loss to the per-token inputs of the head, and from its outputs to the figures of a result. */
import { clippedSurrogate, type SurrogateToken } from "../../grpo/loss.ts";
import type { ForwardBackwardResult, Loss, TrainingExample } from "../engine.ts";
import { maxLogRatio, type TermColumn, termColumns } from "./head-loss.ts";
import type { TrainedToken } from "./micro-batch.ts";

/** Log-ratio bounds are widened by this much: a ratio computed in single precision is at the bound when it is this close. */
const boundSlack = 1e-6;

/** The head's `terms` [tokens, 8] for the trained tokens of a micro-batch. */
export function lossTerms(trained: readonly TrainedToken[], examples: readonly TrainingExample[], loss: Loss): Float32Array {
  const width = termColumns.length;
  const terms = new Float32Array(trained.length * width);
  const columns = Object.fromEntries(termColumns.map((column, index) => [column, index])) as Record<TermColumn, number>;
  trained.forEach(({ sequence, position }, token) => {
    const example = examples[sequence] as TrainingExample;
    const weight = example.weights[position] as number;
    if (weight === 0) return;
    const set = (column: TermColumn, value: number) => {
      terms[token * width + columns[column]] = value;
    };
    if (loss.kind === "cross-entropy") {
      set("likelihoodWeight", weight);
      return;
    }
    const advantage = example.advantages[position] as number;
    const clamp = (logRatio: number) => Math.max(-maxLogRatio, Math.min(maxLogRatio, logRatio));
    set("policySlope", -weight * advantage);
    set("oldLogprob", example.logprobs[position] as number);
    set("lowerLogRatio", advantage < 0 ? clamp(Math.log(1 - loss.clipLow)) - boundSlack : -maxLogRatio);
    const upper =
      advantage > 0 ? Math.log(1 + loss.clipHigh) : advantage < 0 && loss.dualClip !== undefined ? Math.log(loss.dualClip) : maxLogRatio;
    set("upperLogRatio", clamp(upper) + boundSlack);
    if (loss.klCoefficient) {
      set("referenceLogprob", example.referenceLogprobs?.[position] as number);
      set("klWeight", loss.klCoefficient * weight);
    }
    set("entropyWeight", (loss.entropyCoefficient ?? 0) * weight);
  });
  return terms;
}

/** Whether the loss has an entropy bonus, which is compiled into the graph. */
export function hasEntropyBonus(loss: Loss): boolean {
  return loss.kind === "clipped-surrogate" && (loss.entropyCoefficient ?? 0) !== 0;
}

/** The result of a forward-backward pass from the log-probabilities and entropies that the graphs gave. */
export function summarise(
  examples: readonly TrainingExample[],
  loss: Loss,
  logprobs: readonly (readonly number[])[],
  entropies: readonly (readonly number[])[],
): ForwardBackwardResult {
  const tokens: SurrogateToken[] = [];
  let crossEntropy = 0;
  let weightedEntropy = 0;
  let entropySum = 0;
  examples.forEach((example, index) => {
    example.mask.forEach((trained, position) => {
      const weight = example.weights[position] as number;
      if (trained !== 1 || weight === 0) return;
      const logprob = logprobs[index]?.[position] as number;
      const entropy = entropies[index]?.[position] as number;
      entropySum += entropy;
      weightedEntropy += weight * entropy;
      crossEntropy -= weight * logprob;
      tokens.push({
        logprob,
        weight,
        oldLogprob: example.logprobs[position] as number,
        advantage: example.advantages[position] as number,
        referenceLogprob: example.referenceLogprobs?.[position],
      });
    });
  });
  const entropy = tokens.length === 0 ? 0 : entropySum / tokens.length;
  const common = { logprobs, tokens: tokens.length, entropy };
  if (loss.kind === "cross-entropy") return { ...common, loss: crossEntropy, clipFraction: 0, kl: 0 };
  const surrogate = clippedSurrogate(tokens, loss);
  return {
    ...common,
    loss: surrogate.loss - (loss.entropyCoefficient ?? 0) * weightedEntropy,
    clipFraction: surrogate.clipFraction,
    kl: surrogate.kl,
  };
}
