import { describe, expect, it } from "vitest";
import { clippedSurrogate } from "../../grpo/loss.ts";
import { createSession, floatTensor, integerTensor } from "../../onnx/session.ts";
import { Rng } from "../../rng.ts";
import type { Loss, TrainingExample } from "../engine.ts";
import { type HeadVariant, headLoss, termColumns } from "./head-loss.ts";
import { lossTerms } from "./loss-terms.ts";
import { Tape } from "./tape.ts";

const vocabulary = 11;

/** A head whose matrix is the identity: hidden rows are logits, and their gradient is d loss / d logits. */
async function dLogits(logits: Float32Array, labels: number[], terms: Float32Array, variant: HeadVariant) {
  const tape = new Tape();
  const { graph } = tape;
  const hidden = graph.input("hidden", "float", ["M", vocabulary]);
  tape.track(hidden);
  const identity = Array.from({ length: vocabulary ** 2 }, (_, index) => (index % (vocabulary + 1) === 0 ? 1 : 0));
  headLoss(tape, hidden, graph.constant("float", [vocabulary, vocabulary], identity), vocabulary, vocabulary, variant);
  graph.node("Identity", [tape.gradient(hidden)], ["dLogits"]);
  graph.output("dLogits", "float", ["M", vocabulary]);
  const session = await createSession(graph.build(), 1);
  const outputs = await session.run({
    hidden: floatTensor(logits, [labels.length, vocabulary]),
    labels: integerTensor(labels, [labels.length, 1]),
    terms: floatTensor(terms, [labels.length, termColumns.length]),
  });
  await session.release();
  const read = (name: string) => Array.from(outputs[name]?.data as Float32Array);
  return { logprobs: read("logprobs"), entropies: read("entropies"), gradient: read("dLogits") };
}

/** Log-softmax and entropy in double precision. */
function reference(logits: readonly number[]) {
  const largest = Math.max(...logits);
  const total = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - largest), 0)) + largest;
  const logprobs = logits.map((logit) => logit - total);
  return { logprobs, entropy: -logprobs.reduce((sum, logprob) => sum + Math.exp(logprob) * logprob, 0) };
}

const rng = new Rng(3);
const offsets = [0, 0.05, -0.05, Math.log(1.2), Math.log(0.8), 0.5, -0.5, 1.5, -1.5, 25, -25];
const count = offsets.length * 3;
const logits = Float32Array.from({ length: count * vocabulary }, () => 2 * rng.normal());
const rows = Array.from({ length: count }, (_, row) => Array.from(logits.subarray(row * vocabulary, (row + 1) * vocabulary)));
const labels = rows.map(() => rng.integer(vocabulary));
const current = rows.map((row, index) => reference(row).logprobs[labels[index] as number] as number);
// Every offset with a positive, a negative and a zero advantage; every eleventh token has weight 0 and meaningless numbers.
const tokens = current.map((logprob, index) => {
  const weight = index % 11 === 5 ? 0 : 0.1 + rng.uniform();
  return {
    logprob,
    oldLogprob: weight === 0 ? Number.NEGATIVE_INFINITY : logprob - (offsets[index % offsets.length] as number),
    referenceLogprob: weight === 0 ? Number.NaN : logprob + (index % 7 === 6 ? 30 : rng.normal()),
    advantage: weight === 0 ? Number.NaN : ([1.3, -0.7, 0][Math.floor(index / offsets.length)] as number),
    weight,
  };
});
const example: TrainingExample = {
  policy: "main",
  groupKey: "",
  tokenIds: labels,
  mask: labels.map(() => 1 as const),
  logprobs: tokens.map((token) => token.oldLogprob),
  referenceLogprobs: tokens.map((token) => token.referenceLogprob),
  advantages: tokens.map((token) => token.advantage),
  weights: tokens.map((token) => token.weight),
};
const trained = labels.map((_, position) => ({ sequence: 0, position }));

/** d loss / d logits in double precision, from d loss / d logprob and the entropy bonus. */
function expectedGradient(slopes: readonly number[], entropyCoefficient: number): number[] {
  return rows.flatMap((row, index) => {
    const { logprobs, entropy } = reference(row);
    const bonus = entropyCoefficient * (tokens[index]?.weight as number);
    return logprobs.map((logprob, token) => {
      const probability = Math.exp(logprob);
      const onehot = token === labels[index] ? 1 : 0;
      return (slopes[index] as number) * (onehot - probability) + bonus * probability * (logprob + entropy);
    });
  });
}

const largestDifference = (a: readonly number[], b: readonly number[]) =>
  a.reduce((most, value, index) => Math.max(most, Math.abs(value - (b[index] as number))), 0);

describe("headLoss", () => {
  it("gives log-probabilities and entropies", async () => {
    const result = await dLogits(logits, labels, lossTerms(trained, [example], { kind: "cross-entropy" }), {
      chunks: 1,
      masked: false,
      entropyBonus: false,
    });
    expect(largestDifference(result.logprobs, current)).toBeLessThan(5e-6);
    expect(
      largestDifference(
        result.entropies,
        rows.map((row) => reference(row).entropy),
      ),
    ).toBeLessThan(5e-6);
  });

  it("differentiates cross-entropy", async () => {
    const result = await dLogits(logits, labels, lossTerms(trained, [example], { kind: "cross-entropy" }), {
      chunks: 1,
      masked: false,
      entropyBonus: false,
    });
    expect(
      largestDifference(
        result.gradient,
        expectedGradient(
          tokens.map((token) => -token.weight),
          0,
        ),
      ),
    ).toBeLessThan(1e-5);
  });

  const options = [
    { clipLow: 0.2, clipHigh: 0.2 },
    { clipLow: 0.2, clipHigh: 0.3, dualClip: 3 },
    { clipLow: 0.1, clipHigh: 0.2, dualClip: 2, klCoefficient: 0.05 },
    { clipLow: 0.2, clipHigh: 0.2, entropyCoefficient: 0.02, klCoefficient: 0.01 },
    { clipLow: 0, clipHigh: 0 },
    { clipLow: 1, clipHigh: 0.2, entropyCoefficient: 0.1 },
  ];
  it.each(options.flatMap((one) => [1, 4].map((chunks) => ({ ...one, chunks }))))(
    "differentiates the clipped surrogate like src/grpo/loss.ts: %j",
    async (settings) => {
      const {
        chunks,
        entropyCoefficient = 0,
        ...rest
      } = settings as { chunks: number; entropyCoefficient?: number; clipLow: number; clipHigh: number };
      const loss: Loss = { kind: "clipped-surrogate", ...rest, entropyCoefficient };
      const variant = { chunks, masked: false, entropyBonus: entropyCoefficient !== 0 };
      const result = await dLogits(logits, labels, lossTerms(trained, [example], loss), variant);
      const slopes = clippedSurrogate(tokens, rest).gradient;
      const expected = expectedGradient(slopes, entropyCoefficient);
      const scale = expected.map((value) => 1 + Math.abs(value));
      const relative = result.gradient.map((value, index) => (value - (expected[index] as number)) / (scale[index] as number));
      expect(
        largestDifference(
          relative,
          relative.map(() => 0),
        ),
      ).toBeLessThan(3e-5);
    },
  );
});
