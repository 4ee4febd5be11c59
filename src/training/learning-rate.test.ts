import { describe, expect, it } from "vitest";
import { learningRate } from "./learning-rate.ts";

const rates = (schedule: "constant" | "linear" | "cosine", warmupFraction = 0.2) =>
  Array.from({ length: 10 }, (_, step) => learningRate(2, step, 10, { warmupFraction, schedule, finalLearningRateFraction: 0.1 }));

describe("learningRate", () => {
  it("rises linearly to the peak, never from zero", () => {
    expect(rates("constant").slice(0, 3)).toEqual([1, 2, 2]);
    expect(rates("constant", 0)[0]).toBe(2);
  });

  it("ends at the final share of the peak", () => {
    expect(rates("constant").at(-1)).toBe(2);
    expect(rates("linear").at(-1)).toBeCloseTo(0.2, 12);
    expect(rates("cosine").at(-1)).toBeCloseTo(0.2, 12);
  });

  it.each(["linear", "cosine"] as const)("never rises after warm-up (%s)", (schedule) => {
    const after = rates(schedule).slice(1);
    expect(after).toEqual(after.slice().sort((a, b) => b - a));
  });

  it("is at its peak in a run of one step", () => {
    expect(learningRate(2, 0, 1, { warmupFraction: 0.04, schedule: "linear", finalLearningRateFraction: 0.1 })).toBe(2);
  });
});
