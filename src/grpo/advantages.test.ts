import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { groupAdvantages } from "./advantages.ts";

describe("groupAdvantages (Eq. 3)", () => {
  const rewards = fc.array(fc.double({ min: -2, max: 2, noNaN: true }), { minLength: 1, maxLength: 40 });

  it("sums to 0, with |A| <= (n − 1) / sqrt(n)", () => {
    fc.assert(
      fc.property(rewards, (list) => {
        const advantages = groupAdvantages(list);
        const bound = (list.length - 1) / Math.sqrt(list.length);
        expect(Math.abs(advantages.reduce((sum, advantage) => sum + advantage, 0))).toBeLessThan(1e-8);
        for (const advantage of advantages) expect(Math.abs(advantage)).toBeLessThanOrEqual(bound + 1e-9);
      }),
    );
  });

  it("keeps the order of the rewards", () => {
    fc.assert(
      fc.property(rewards, (list) => {
        const advantages = groupAdvantages(list);
        for (let index = 1; index < list.length; index++) {
          const rise = (list[index] as number) - (list[index - 1] as number);
          const answer = (advantages[index] as number) - (advantages[index - 1] as number);
          expect(rise * answer).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });

  it("gives exact zeros to a constant group, a single reward and an empty list", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer({ min: 1, max: 9 }), (reward, size) => {
        expect(groupAdvantages(Array(size).fill(reward))).toEqual(Array(size).fill(0));
      }),
    );
    expect(groupAdvantages([])).toEqual([]);
  });

  it("two of three right: deviation 1/√3", () => {
    const [right, , wrong] = groupAdvantages([1, 1, 0]);
    expect(right).toBeCloseTo(1 / 3 / (1 / Math.sqrt(3) + 1e-6), 12);
    expect(wrong).toBeCloseTo(-2 / 3 / (1 / Math.sqrt(3) + 1e-6), 12);
  });

  it("refuses a reward that is not a number, naming it", () => {
    expect(() => groupAdvantages([0, Number.NaN])).toThrow(/rewards\[1\].*NaN/);
  });
});
