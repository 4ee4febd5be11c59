import { describe, expect, test } from "vitest";
import { Rng } from "../rng.ts";
import { bootstrapInterval, type Contribution, contribution, excludesZero, pairedDifference } from "./significance.ts";

const options = (name = "test") => ({ rng: Rng.stream(7, name), samples: 2000 });
/** `right` ones among `total` questions. */
const binary = (right: number, total: number): Contribution[] =>
  Array.from({ length: total }, (_, index) => contribution(index < right ? 1 : 0));

describe("bootstrapInterval", () => {
  test("agrees with the normal interval of a proportion", () => {
    // 120 of 400: mean .3, standard error sqrt(.3 x .7 / 400) = .02291, so the 95 % interval is .3 +- .0449.
    const interval = bootstrapInterval([binary(120, 400)], options());
    expect(interval.mean).toBeCloseTo(0.3, 12);
    expect(interval.low).toBeCloseTo(0.2551, 2);
    expect(interval.high).toBeCloseTo(0.3449, 2);
  });

  test("agrees with the normal interval of a mean of continuous values", () => {
    const rng = Rng.stream(3, "values");
    const values = Array.from({ length: 1000 }, () => contribution(10 + 2 * rng.normal()));
    const interval = bootstrapInterval([values], options());
    // Standard error 2 / sqrt(1000) = .0632, width 2 x 1.96 x .0632 = .248.
    expect(interval.high - interval.low).toBeGreaterThan(0.22);
    expect(interval.high - interval.low).toBeLessThan(0.28);
    expect(interval.low).toBeLessThan(10);
    expect(interval.high).toBeGreaterThan(10);
  });

  test("is a ratio of sums, not a mean of ratios, and takes questions that contribute nothing", () => {
    const table = [
      [
        { numerator: 1, denominator: 1 },
        { numerator: 1, denominator: 3 },
        { numerator: 0, denominator: 0 },
      ],
    ];
    expect(bootstrapInterval(table, options()).mean).toBeCloseTo(2 / 4, 12);
  });

  test("constant values have no width, and the same stream gives the same interval", () => {
    expect(bootstrapInterval([binary(5, 5)], options())).toEqual({ mean: 1, low: 1, high: 1 });
    expect(bootstrapInterval([binary(3, 9)], options("a"))).toEqual(bootstrapInterval([binary(3, 9)], options("a")));
  });

  test("seeds that disagree widen the interval", () => {
    const agreeing = bootstrapInterval([binary(50, 100), binary(50, 100)], options());
    const disagreeing = bootstrapInterval([binary(20, 100), binary(80, 100)], options());
    expect(disagreeing.mean).toBeCloseTo(agreeing.mean, 12);
    expect(disagreeing.high - disagreeing.low).toBeGreaterThan(agreeing.high - agreeing.low);
  });

  test("needs questions, and the same ones in every seed", () => {
    expect(() => bootstrapInterval([[]], options())).toThrow("at least one question");
    expect(() => bootstrapInterval([binary(1, 2), binary(1, 3)], options())).toThrow("same questions");
  });
});

describe("pairedDifference", () => {
  test("a constant gap between noisy systems is certain", () => {
    const rng = Rng.stream(5, "pairs");
    const base = Array.from({ length: 300 }, () => rng.uniform());
    const interval = pairedDifference([base.map((value) => contribution(value + 0.1))], [base.map(contribution)], options());
    expect(interval.mean).toBeCloseTo(0.1, 10);
    expect(interval.high - interval.low).toBeLessThan(1e-9);
    expect(excludesZero(interval)).toBe(true);
  });

  test("identical systems differ by exactly nothing, which does not exclude zero", () => {
    const interval = pairedDifference([binary(10, 30)], [binary(10, 30)], options());
    expect(interval).toEqual({ mean: 0, low: 0, high: 0 });
    expect(excludesZero(interval)).toBe(false);
  });

  test("agrees with the normal interval of discordant pairs", () => {
    // 60 questions only the first gets right, 20 only the second, 320 alike: difference .1, per-question variance 80/400 - .01 = .19.
    const first = [...Array(60).fill(1), ...Array(20).fill(0), ...Array(320).fill(1)].map(contribution);
    const second = [...Array(60).fill(0), ...Array(20).fill(1), ...Array(320).fill(1)].map(contribution);
    const interval = pairedDifference([first], [second], options());
    const reach = 1.96 * Math.sqrt(0.19 / 400);
    expect(interval.mean).toBeCloseTo(0.1, 12);
    expect(interval.low).toBeCloseTo(0.1 - reach, 2);
    expect(interval.high).toBeCloseTo(0.1 + reach, 2);
  });

  test("refuses systems that were not asked the same questions", () => {
    expect(() => pairedDifference([binary(1, 3)], [binary(1, 4)], options())).toThrow("same questions");
  });
});
