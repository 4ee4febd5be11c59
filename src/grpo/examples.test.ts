import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TokenGrammar } from "../engine/engine.ts";
import type { RankerCall, SampledTokens, Trajectory } from "../types.ts";
import { rankerExample, trajectoryExample, type UnweightedExample, withAggregation } from "./examples.ts";
import { clippedSurrogate } from "./loss.ts";

const sampled = (tokenIds: number[], logprobs: number[]): SampledTokens => ({
  tokenIds,
  logprobs,
  text: "",
  finishReason: "stop",
  policyVersion: 3,
});

const trajectory: Trajectory = {
  questionId: "q1",
  index: 2,
  stopReason: "answered",
  answer: "Oslo",
  turns: [
    {
      index: 0,
      promptTokenIds: [1, 2, 3],
      output: sampled([10, 11], [-0.5, -0.25]),
      action: { kind: "search", query: "capital of Norway" },
    },
    { index: 1, promptTokenIds: [4, 5], output: sampled([12], [-1]), action: { kind: "answer", answer: "Oslo" } },
  ],
};

const call: RankerCall = {
  questionId: "q1",
  trajectoryIndex: 2,
  turnIndex: 0,
  question: "What is the capital of Norway?",
  query: "capital of Norway",
  candidates: [],
  promptTokenIds: [7, 8],
  output: sampled([20, 21, 22], [-0.1, -0.2, -0.3]),
  ranking: { kind: "malformed", reason: "for the test" },
};

const grammar: TokenGrammar = { id: "any", start: 0, states: [{ onText: 0, onToken: [] }], reservedTokenIds: [] };

/** An example of `prompt` prompt tokens and `written` model-written ones. */
const ofLengths = (prompt: number, written: number, advantage = 1): UnweightedExample =>
  rankerExample(
    { ...call, promptTokenIds: Array(prompt).fill(1), output: sampled(Array(written).fill(2), Array(written).fill(-1)) },
    { advantage, groupKey: "g" },
  );

describe("trajectoryExample", () => {
  it("joins turns in order; what the agent did not write is masked", () => {
    expect(trajectoryExample(trajectory, { advantage: 1.5, groupKey: "q1" })).toEqual({
      policy: "main",
      groupKey: "q1",
      tokenIds: [1, 2, 3, 10, 11, 4, 5, 12],
      mask: [0, 0, 0, 1, 1, 0, 0, 1],
      logprobs: [0, 0, 0, -0.5, -0.25, 0, 0, -1],
      advantages: [0, 0, 0, 1.5, 1.5, 0, 0, 1.5],
    });
  });

  it("carries the grammar", () => {
    expect(trajectoryExample(trajectory, { advantage: 0, groupKey: "q1", grammar }).grammar).toBe(grammar);
  });

  it.each<[string, Trajectory, RegExp]>([
    ["a failed rollout", { ...trajectory, stopReason: "infra_error" }, /trajectory 2 of question q1 ended with infra_error/],
    ["a trajectory without turns", { ...trajectory, turns: [] }, /no turn/],
    [
      "an output without a prompt",
      { ...trajectory, turns: trajectory.turns.map((turn) => ({ ...turn, promptTokenIds: [] })) },
      /output 0 follows no prompt/,
    ],
    [
      "missing log-probabilities",
      { ...trajectory, turns: trajectory.turns.map((turn) => ({ ...turn, output: sampled([10, 11], [-1]) })) },
      /2 tokens, but 1 log-prob/,
    ],
  ])("refuses %s, naming it", (_what, wrong, message) => {
    expect(() => trajectoryExample(wrong, { advantage: 1, groupKey: "q1" })).toThrow(message);
  });
});

describe("rankerExample", () => {
  it("is the prompt, masked, and the output", () => {
    expect(rankerExample(call, { advantage: -1, groupKey: "q1/answer-0" })).toEqual({
      policy: "ranker",
      groupKey: "q1/answer-0",
      tokenIds: [7, 8, 20, 21, 22],
      mask: [0, 0, 1, 1, 1],
      logprobs: [0, 0, -0.1, -0.2, -0.3],
      advantages: [0, 0, -1, -1, -1],
    });
  });
});

describe("withAggregation", () => {
  // Two sequences of 3 and 1 written tokens: S = 2, T = 4.
  const minibatch = [ofLengths(2, 3), ofLengths(1, 1, 0)];

  it.each([
    ["token-mean", [0, 0, 1 / 4, 1 / 4, 1 / 4], [0, 1 / 4]],
    ["sequence-mean", [0, 0, 1 / 6, 1 / 6, 1 / 6], [0, 1 / 2]],
    ["sequence-sum", [0, 0, 1 / 2, 1 / 2, 1 / 2], [0, 1 / 2]],
  ] as const)("%s", (aggregation, first, second) => {
    expect(withAggregation(minibatch, aggregation).map((example) => example.weights)).toEqual([first, second]);
  });

  it("averages: at ratio 1 the loss is minus the mean advantage, counting examples of advantage 0", () => {
    const lossOf = (aggregation: "token-mean" | "sequence-mean" | "sequence-sum") =>
      clippedSurrogate(
        withAggregation(minibatch, aggregation).flatMap((example) =>
          example.tokenIds.map((_id, index) => ({
            logprob: example.logprobs[index] as number,
            oldLogprob: example.logprobs[index] as number,
            advantage: example.advantages[index] as number,
            weight: example.weights[index] as number,
          })),
        ),
      ).loss;
    expect(lossOf("token-mean")).toBeCloseTo(-3 / 4, 12);
    expect(lossOf("sequence-mean")).toBeCloseTo(-1 / 2, 12);
    expect(lossOf("sequence-sum")).toBeCloseTo(-3 / 2, 12);
  });

  it("sums to 1 for the two means, whatever the lengths, and keeps every list aligned with mask[0] = 0", () => {
    const lengths = fc.array(fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 9 })), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(lengths, fc.constantFrom<"token-mean" | "sequence-mean">("token-mean", "sequence-mean"), (list, aggregation) => {
        const examples = withAggregation(
          list.map(([prompt, written]) => ofLengths(prompt, written)),
          aggregation,
        );
        expect(examples.flatMap((example) => example.weights).reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 9);
        for (const { tokenIds, mask, logprobs, advantages, weights } of examples) {
          expect(mask[0]).toBe(0);
          for (const aligned of [mask, logprobs, advantages, weights]) expect(aligned).toHaveLength(tokenIds.length);
        }
      }),
    );
  });

  it("keeps what the step has added to an example", () => {
    const [example] = withAggregation([{ ...ofLengths(1, 1), referenceLogprobs: [0, -2] }], "token-mean");
    expect(example?.referenceLogprobs).toEqual([0, -2]);
  });
});
