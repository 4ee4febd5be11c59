import type { TokenGrammar, TrainingExample } from "../engine/engine.ts";
import type { RankerCall, SampledTokens, Trajectory } from "../types.ts";

/** An example whose place in a minibatch is not yet known; {@link withAggregation} gives it its weights. */
export type UnweightedExample = Omit<TrainingExample, "weights">;

/** What a whole sequence is labelled with. */
export interface ExampleLabels {
  /** The group-normalised advantage of the whole sequence (Eq. 3). */
  readonly advantage: number;
  readonly groupKey: string;
  /** The grammar that the tokens were sampled under, if any; it starts anew at every output. */
  readonly grammar?: TokenGrammar;
}

/** How token losses are averaged over one minibatch. */
export type Aggregation = "token-mean" | "sequence-mean" | "sequence-sum";

/**
 * One trajectory of the main agent as one sequence: per turn the tokens added to the context (mask 0: the prompt, later the
 * observations, which the agent did not write), then the sampled tokens verbatim (mask 1, with their sampling log-probabilities).
 * @throws RangeError for a trajectory that must not be trained on (`infra_error`) or whose token lists don't fit.
 */
export function trajectoryExample(trajectory: Trajectory, labels: ExampleLabels): UnweightedExample {
  const place = `trajectory ${trajectory.index} of question ${trajectory.questionId}`;
  if (trajectory.stopReason === "infra_error") throw new RangeError(`${place} ended with infra_error: leave it out of training`);
  return { policy: "main", ...sequence(trajectory.turns, labels, place) };
}

/**
 * One ranker call (Alg. 1) as one sequence: its prompt (mask 0), then its sampled output (mask 1).
 * @throws RangeError when the token lists don't fit.
 */
export function rankerExample(call: RankerCall, labels: ExampleLabels): UnweightedExample {
  const place = `ranker call of turn ${call.turnIndex}, trajectory ${call.trajectoryIndex}, question ${call.questionId}`;
  return { policy: "ranker", ...sequence([call], labels, place) };
}

/**
 * Gives every model-written token its weight, so that the loss of ONE minibatch, a plain weighted sum over tokens, is the
 * chosen average. With S sequences, |y| written tokens in a sequence and T in all:
 * - `token-mean`: 1 / T, the authors' run;
 * - `sequence-mean`: 1 / (S·|y|), each sequence counts the same;
 * - `sequence-sum`: 1 / S, Eq. 3 as printed: summed over tokens, averaged over trajectories.
 *
 * Examples of advantage 0 (groups of equal rewards) add nothing to the surrogate, but they count in S and T, as in the
 * printed average, and carry the KL and entropy terms. Weights are 0 where the mask is 0.
 */
export function withAggregation<Example extends UnweightedExample>(
  examples: readonly Example[],
  aggregation: Aggregation,
): (Example & { readonly weights: readonly number[] })[] {
  const lengths = examples.map((example) => example.mask.reduce<number>((sum, bit) => sum + bit, 0));
  const total = lengths.reduce((sum, length) => sum + length, 0);
  return examples.map((example, index) => {
    const divisor = { "token-mean": total, "sequence-mean": examples.length * (lengths[index] as number), "sequence-sum": examples.length };
    return { ...example, weights: example.mask.map((bit) => (bit === 1 ? 1 / divisor[aggregation] : 0)) };
  });
}

/**
 * Prompt and output pieces, joined. Every output must follow a prompt piece: mask[0] is 0, and a grammar restarts at every run of
 * mask 1.
 */
function sequence(
  pieces: readonly { readonly promptTokenIds: readonly number[]; readonly output: SampledTokens }[],
  labels: ExampleLabels,
  place: string,
): Omit<UnweightedExample, "policy"> {
  const { advantage, groupKey, grammar } = labels;
  const tokenIds: number[] = [];
  const mask: (0 | 1)[] = [];
  const logprobs: number[] = [];
  const advantages: number[] = [];
  const append = (ids: readonly number[], written: 0 | 1, sampled?: readonly number[]) => {
    for (const [index, id] of ids.entries()) {
      tokenIds.push(id);
      mask.push(written);
      logprobs.push(sampled?.[index] ?? 0);
      advantages.push(written === 1 ? advantage : 0);
    }
  };
  if (pieces.length === 0) throw new RangeError(`${place} has no turn: there is nothing to train on`);
  for (const [index, { promptTokenIds, output }] of pieces.entries()) {
    if (promptTokenIds.length === 0) throw new RangeError(`${place}: output ${index} follows no prompt or observation token`);
    if (output.logprobs.length !== output.tokenIds.length) {
      throw new RangeError(
        `${place}: output ${index} has ${output.tokenIds.length} tokens, but ${output.logprobs.length} log-probabilities`,
      );
    }
    append(promptTokenIds, 0);
    append(output.tokenIds, 1, output.logprobs);
  }
  return { groupKey, tokenIds, mask, logprobs, advantages, ...(grammar && { grammar }) };
}
