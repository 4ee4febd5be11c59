import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { configuredRelevance, ndcg, relevanceReward } from "./relevance.ts";

const hitAt = (rank: number, length = 5) => Array.from({ length }, (_, index) => index + 1 === rank);

describe("relevanceReward (Section 3.4)", () => {
  it.each([
    [1, 1],
    [2, 2 / 3],
    [3, 2 / 3],
    [4, 1 / 3],
    [5, 1 / 3],
    [6, 0],
  ])("first hit at rank %i: %d", (rank, reward) => {
    expect(relevanceReward(hitAt(rank, 6))).toBeCloseTo(reward, 12);
  });

  it("depends on the first hit alone", () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 12 }), (hits) => {
        const first = hits.indexOf(true);
        expect(relevanceReward(hits)).toBe(relevanceReward(hits.map((_, index) => index === first)));
      }),
    );
  });

  it("refuses cutoffs that make no sense, naming them", () => {
    expect(() => relevanceReward([true], [])).toThrow(RangeError);
    expect(() => relevanceReward([true], [1, 0])).toThrow(/got 0/);
  });
});

describe("ndcg", () => {
  it("is 1 when every place that can be relevant is, and never more", () => {
    fc.assert(
      fc.property(
        fc.array(fc.boolean(), { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 0, max: 4 }),
        fc.integer({ min: 1, max: 8 }),
        (hits, missed, cutoff) => {
          const relevant = hits.filter(Boolean).length + missed;
          const sorted = [...hits].sort((a, b) => Number(b) - Number(a));
          const value = ndcg(hits, relevant, cutoff);
          expect(value).toBeGreaterThanOrEqual(0);
          expect(value).toBeLessThanOrEqual(ndcg(sorted, relevant, cutoff) + 1e-12);
          if (missed === 0 && relevant > 0) expect(ndcg(sorted, relevant, cutoff)).toBeCloseTo(1, 12);
        },
      ),
    );
  });

  it("discounts by log2(rank + 1)", () => {
    expect(ndcg(hitAt(3), 1, 5)).toBeCloseTo(0.5, 12);
    expect(ndcg(hitAt(3), 1, 2)).toBe(0);
  });
});

describe("configuredRelevance", () => {
  it("is the mean over the cutoffs of Hit@k or of nDCG@k", () => {
    expect(configuredRelevance(hitAt(2), 1, { relevance: "hit", cutoffs: [1, 2] })).toBe(0.5);
    expect(configuredRelevance(hitAt(2), 1, { relevance: "ndcg", cutoffs: [1, 2] })).toBeCloseTo(1 / Math.log2(3) / 2, 12);
  });

  it.each(["hit", "ndcg"] as const)("is 0 where no candidate is relevant, and refuses an empty list of cutoffs (%s)", (relevance) => {
    expect(configuredRelevance(hitAt(0), 0, { relevance, cutoffs: [1, 3] })).toBe(0);
    expect(() => configuredRelevance(hitAt(1), 1, { relevance, cutoffs: [] })).toThrow("cutoffs is an empty list");
  });
});
