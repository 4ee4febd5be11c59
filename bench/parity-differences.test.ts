import { describe, expect, it } from "vitest";
import { largestDifference, worse } from "./parity-differences.ts";
import { ParityReport } from "./parity-report.ts";

describe("largestDifference", () => {
  it("is the largest one, wherever it stands", () => {
    expect(largestDifference([1, 2, 3], [1.5, 2, 2])).toBe(1);
  });

  it("never loses a NaN of either side, an infinity or a missing number", () => {
    expect(largestDifference([Number.NaN, 1], [0, 1])).toBeNaN();
    expect(largestDifference([0, 1], [Number.NaN, 1])).toBeNaN();
    expect(largestDifference([0, 1], [Number.NEGATIVE_INFINITY, 1])).toBe(Number.POSITIVE_INFINITY);
    expect(largestDifference([0, 1], [0])).toBeNaN();
  });

  it("leaves out what it is told to, but not a NaN", () => {
    const small = (value: number) => value <= -80;
    expect(largestDifference([-90, -1], [-100, -1], small)).toBe(0);
    expect(largestDifference([Number.NaN, -1], [0, -1], small)).toBeNaN();
  });
});

describe("worse", () => {
  it("keeps a NaN, whichever comes first", () => {
    const [fine, broken] = [
      { name: "a", value: 1 },
      { name: "b", value: Number.NaN },
    ];
    expect(worse(fine, broken)).toBe(broken);
    expect(worse(broken, fine)).toBe(broken);
    expect(worse(fine, { name: "c", value: 2 }).name).toBe("c");
  });
});

describe("ParityReport", () => {
  it("fails with the names of all that is out of bounds, NaN included", () => {
    const report = new ParityReport(() => undefined);
    report.check({ check: "logits", model: "m" }, 1e-4, 1e-3);
    report.check({ check: "loss", model: "m" }, 2e-3, 1e-3);
    report.check({ check: "gradients", model: "m" }, Number.NaN, 1e-3);
    expect(() => report.finish()).toThrow(/2 of 3 comparisons.*\nm: loss is 0.002, above 0.001\nm: gradients is NaN, above 0.001/);
  });

  it("passes where all holds", () => {
    const report = new ParityReport(() => undefined);
    report.check({ check: "logits", model: "m" }, 0, 0);
    expect(() => report.finish()).not.toThrow();
  });
});
