import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { clippedSurrogate, type SurrogateToken } from "./loss.ts";

const between = (min: number, max: number) => fc.double({ min, max, noNaN: true });
const token = fc.record({
  logprob: between(-6, 0),
  oldLogprob: between(-6, 0),
  referenceLogprob: between(-6, 0),
  advantage: between(-3, 3),
  weight: between(0.001, 2),
});
const options = fc.record({
  clipLow: between(0.05, 0.4),
  clipHigh: between(0.05, 0.4),
  dualClip: fc.option(between(1.5, 4), { nil: undefined }),
  klCoefficient: between(0, 0.5),
});

/** One token with weight 1 at the given probability ratio. */
const atRatio = (ratio: number, advantage: number): SurrogateToken => ({
  logprob: Math.log(ratio) - 1,
  oldLogprob: -1,
  advantage,
  weight: 1,
});

describe("clippedSurrogate (Eq. 3)", () => {
  it("has the gradient of its loss, against central differences", () => {
    const step = 1e-6;
    fc.assert(
      fc.property(fc.array(token, { minLength: 1, maxLength: 6 }), options, fc.nat(5), (tokens, chosen, pick) => {
        const index = pick % tokens.length;
        const one = tokens[index] as SurrogateToken;
        const ratio = Math.exp(one.logprob - one.oldLogprob);
        // At a kink there are two derivatives.
        fc.pre([1 - chosen.clipLow, 1 + chosen.clipHigh, chosen.dualClip ?? 0].every((bound) => Math.abs(ratio / bound - 1) > 1e-4));
        const lossAt = (logprob: number) =>
          clippedSurrogate(
            tokens.map((other, at) => (at === index ? { ...other, logprob } : other)),
            chosen,
          ).loss;
        const numeric = (lossAt(one.logprob + step) - lossAt(one.logprob - step)) / (2 * step);
        const analytic = clippedSurrogate(tokens, chosen).gradient[index] as number;
        expect(Math.abs(analytic - numeric)).toBeLessThan(1e-5 * (1 + Math.abs(analytic)));
      }),
      { numRuns: 300 },
    );
  });

  it("takes exactly nothing from tokens of weight 0, whatever they hold", () => {
    const anything = fc.oneof(fc.double(), fc.constantFrom(Number.NaN, Infinity, -Infinity, 1e308, -1e308));
    const masked = fc.record({
      logprob: anything,
      oldLogprob: anything,
      referenceLogprob: fc.option(anything, { nil: undefined }),
      advantage: anything,
      weight: fc.constant(0),
    });
    fc.assert(
      fc.property(fc.array(token, { maxLength: 5 }), fc.array(masked, { maxLength: 5 }), options, (tokens, hidden, chosen) => {
        const alone = clippedSurrogate(tokens, chosen);
        const mixed = clippedSurrogate([...hidden, ...tokens], chosen);
        expect(mixed).toEqual({ ...alone, gradient: [...hidden.map(() => 0), ...alone.gradient] });
      }),
    );
  });

  it.each([
    ["inside the bounds", 1.1, 2, -2.2, -2.2, 0],
    ["a gain above the upper bound is clipped", 1.5, 1, -1.2, 0, 1],
    ["a gain below the lower bound keeps its gradient", 0.5, 1, -0.5, -0.5, 0],
    ["a loss below the lower bound is clipped", 0.5, -1, 0.8, 0, 1],
    ["a loss above the upper bound keeps its gradient", 2, -1, 2, 2, 0],
    ["the dual clip bounds it", 4.5, -1, 3, 0, 1],
    ["at the upper bound the gradient still flows", 1.2, 1, -1.2, -1.2, 0],
    ["at the lower bound the gradient still flows", 0.8, -1, 0.8, 0.8, 0],
    ["at the dual clip the gradient still flows", 3, -1, 3, 3, 0],
    ["without advantage nothing is clipped", 5, 0, 0, 0, 0],
  ])("%s", (_what, ratio, advantage, loss, gradient, clipFraction) => {
    const result = clippedSurrogate([atRatio(ratio, advantage)], { dualClip: 3 });
    expect(result.loss).toBeCloseTo(loss, 9);
    expect(result.gradient[0]).toBeCloseTo(gradient, 9);
    expect(result.clipFraction).toBe(clipFraction);
  });

  it("adds β times the k3 estimate, and reports its weighted mean", () => {
    const tokens = [
      { logprob: -2, oldLogprob: -2, referenceLogprob: -1, advantage: 0, weight: 3 },
      { logprob: -1, oldLogprob: -1, referenceLogprob: -1, advantage: 0, weight: 1 },
    ];
    const k3 = Math.E - 2;
    const result = clippedSurrogate(tokens, { klCoefficient: 0.5 });
    expect(result.loss).toBeCloseTo(0.5 * 3 * k3, 12);
    expect(result.gradient[0]).toBeCloseTo(0.5 * 3 * (1 - Math.E), 12);
    expect(result.kl).toBeCloseTo((3 * k3) / 4, 12);
    expect(clippedSurrogate(tokens).kl).toBeCloseTo((3 * k3) / 4, 12);
    expect(clippedSurrogate(tokens).loss).toBeCloseTo(0, 12);
  });

  it("cuts log-ratios at ±20, so that nothing overflows", () => {
    const far = clippedSurrogate([{ logprob: 0, oldLogprob: -2000, referenceLogprob: -Infinity, advantage: -1, weight: 1 }], {
      klCoefficient: 1,
    });
    expect(far.loss).toBeCloseTo(Math.exp(20) + Math.expm1(-20) + 20, 3);
    expect(far.gradient).toEqual([0]);
  });

  it("is 0 for no tokens", () => {
    expect(clippedSurrogate([], { klCoefficient: 1 })).toEqual({ loss: 0, gradient: [], clipFraction: 0, kl: 0 });
  });

  it("refuses a missing reference and a log-ratio that is no number, naming the token", () => {
    expect(() => clippedSurrogate([atRatio(1, 1)], { klCoefficient: 0.1 })).toThrow(/tokens\[0\].referenceLogprob is missing/);
    expect(() => clippedSurrogate([atRatio(1, 1), { ...atRatio(1, 1), logprob: Number.NaN }])).toThrow(/tokens\[1\].*not a number/);
  });
});
