import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encoderBatches } from "./encoder-batches.ts";

describe("encoderBatches", () => {
  it("holds every sequence once, never more tokens than allowed unless alone, and no more padding than the next longer needs", () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 60 })), fc.integer({ min: 1, max: 200 }), (lengths, mostTokens) => {
        const batches = encoderBatches(lengths, mostTokens);
        expect(batches.flat().sort((left, right) => left - right)).toEqual(lengths.map((_, index) => index));
        const sizes = batches.map((batch) => batch.map((index) => lengths[index] as number));
        for (const batch of sizes) {
          if (batch.length > 1) expect(batch.length * Math.max(...batch)).toBeLessThanOrEqual(mostTokens);
        }
        expect(sizes.flat()).toEqual(lengths.slice().sort((left, right) => right - left));
      }),
    );
  });

  it("keeps the order of equals and fills a batch", () => {
    expect(encoderBatches([2, 5, 2, 5, 1], 10)).toEqual([
      [1, 3],
      [0, 2, 4],
    ]);
  });
});
