import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rankerReward } from "./ranker-reward.ts";

const call = (relevance: number, main: number) => ({ formatValid: true, answerInCandidates: true, relevance, main });

describe("rankerReward, the cases of Eq. 6", () => {
  it.each([
    ["malformed", { ...call(1, 1), formatValid: false }, -0.2, "malformed"],
    ["I_ans = 1, r_rel below γ", call(1 / 3, 0.4), 1 / 3, "relevance"],
    ["I_ans = 1, r_rel at γ", call(0.5, 1), 0.5, "relevance"],
    ["I_ans = 1, r_rel above γ", call(2 / 3, 0.4), 2 / 3 + 0.4, "relevance+main"],
    ["I_ans = 0", { ...call(0, 0.4), answerInCandidates: false }, 0.4, "main"],
  ])("%s", (_what, outcome, total, rule) => {
    const reward = rankerReward(outcome);
    expect(reward.rule).toBe(rule);
    expect(reward.total).toBeCloseTo(total, 12);
  });

  it("the reference preset compares with >= 0.8 and counts only a high F1", () => {
    expect(rankerReward(call(0.8, 0.9), { preset: "reference" }).total).toBeCloseTo(1.8, 12);
    expect(rankerReward(call(0.8, 0.79), { preset: "reference" }).total).toBeCloseTo(0.8, 12);
    expect(rankerReward(call(2 / 3, 0.9), { preset: "reference" }).rule).toBe("relevance");
  });

  it("an explicit γ overrides the preset's number and keeps its comparison", () => {
    expect(rankerReward(call(0.6, 1), { relevanceThreshold: 0.6 }).total).toBeCloseTo(0.6, 12);
    expect(rankerReward(call(0.6, 1), { relevanceThreshold: 0.6, preset: "reference" }).total).toBeCloseTo(1.6, 12);
  });

  it("the ablations keep one term, and the penalty", () => {
    const noAnswer = { ...call(1, 0.7), answerInCandidates: false };
    expect(rankerReward(noAnswer, { terms: "relevance" }).total).toBe(0);
    expect(rankerReward(call(1 / 3, 0.7), { terms: "main" }).total).toBe(0.7);
    for (const terms of ["relevance", "main"] as const)
      expect(rankerReward({ ...call(1, 1), formatValid: false }, { terms, formatPenalty: 0.3 }).total).toBe(-0.3);
  });

  it("tells what each term adds", () => {
    const outcome = fc.record({
      formatValid: fc.constant(true),
      answerInCandidates: fc.boolean(),
      relevance: fc.double({ min: 0, max: 1, noNaN: true }),
      main: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    const options = fc.record({
      preset: fc.constantFrom<"paper" | "reference">("paper", "reference"),
      terms: fc.constantFrom<"both" | "relevance" | "main">("both", "relevance", "main"),
    });
    fc.assert(
      fc.property(outcome, options, (one, chosen) => {
        const reward = rankerReward(one, chosen);
        expect(reward.total).toBe(reward.relevanceTerm + reward.mainTerm);
        expect(reward.total).toBeGreaterThanOrEqual(0);
        expect(reward.total).toBeLessThanOrEqual(2);
      }),
    );
  });
});
