import { describe, expect, it } from "vitest";
import { reciprocalRankFusion } from "./fusion.ts";

const list = (...rows: number[]) => rows.map((row, index) => ({ row, score: 10 - index }));

describe("reciprocalRankFusion", () => {
  it("adds 1 / (constant + rank) over the lists", () => {
    const fused = reciprocalRankFusion([list(7, 3, 5), list(3, 9)], 60, 10);
    expect(fused.map(({ row }) => row)).toEqual([3, 7, 9, 5]);
    expect(fused.map(({ score }) => score)).toEqual([1 / 62 + 1 / 61, 1 / 61, 1 / 62, 1 / 63]);
  });

  it("looks at ranks alone, not at the lists' own scores", () => {
    const loud = list(1, 2).map((hit) => ({ ...hit, score: hit.score * 1000 }));
    expect(reciprocalRankFusion([loud, list(2, 1)], 60, 2)).toEqual(reciprocalRankFusion([list(1, 2), list(2, 1)], 60, 2));
  });

  it("keeps equal scores in row order and cuts at topK", () => {
    expect(reciprocalRankFusion([list(9, 4), list(2, 4)], 0, 3).map(({ row }) => row)).toEqual([2, 4, 9]);
    expect(reciprocalRankFusion([list(9, 8), list(2, 1)], 60, 2).map(({ row }) => row)).toEqual([2, 9]);
  });

  it("gives nothing for nothing", () => {
    expect(reciprocalRankFusion([[], []], 60, 5)).toEqual([]);
    expect(reciprocalRankFusion([], 60, 5)).toEqual([]);
  });
});
