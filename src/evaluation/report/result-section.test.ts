import { describe, expect, test } from "vitest";
import type { Interval } from "../significance.ts";
import type { ReportData } from "./report-data.ts";
import { verdict } from "./result-section.ts";
import { resultTable } from "./result-table.ts";

function data(difference: Interval): ReportData {
  const f1 = { mean: 0.626, low: 0.59, high: 0.66 };
  const system = { scores: { f1, searches: { mean: 1.67, low: 1.6, high: 1.7 } }, seeds: [], f1ByHops: [], questions: 800 };
  return {
    title: "test",
    alarms: [],
    seeds: [1],
    steps: 10,
    candidates: 10,
    topK: 2,
    systems: [
      { ...system, key: "fixedRanker" },
      { ...system, key: "cosearch" },
    ],
    differences: [{ metric: "f1", first: "cosearch", second: "fixedRanker", interval: difference, seeds: [difference.mean] }],
    curves: [],
    examples: [],
    trainingGroups: [],
    configuration: "",
  };
}

describe("the verdict says no more than the interval allows", () => {
  test.each([
    [{ mean: 0.118, low: 0.08, high: 0.15 }, "clearly more than"],
    [{ mean: 0.02, low: -0.01, high: 0.05 }, "don't show a clear difference"],
    [{ mean: -0.1, low: -0.15, high: -0.05 }, "clearly <strong>less</strong> than"],
  ])("%o: %s", (difference, words) => {
    expect(verdict(data(difference))?.markup).toContain(words);
  });
});

test("the terminal table lists systems and differences in aligned columns", () => {
  const lines = resultTable(data({ mean: 0.118, low: 0.08, high: 0.15 })).split("\n");
  expect(lines[0]).toMatch(/^System +F1 +searches$/);
  expect(lines[3]).toMatch(/^CoSearch +\.626 \[\.590, \.660\] +1\.67$/);
  expect(new Set(lines.slice(0, 4).map((line) => line.length)).size).toBe(1);
  expect(lines.at(-1)).toMatch(/^CoSearch − Fixed Ranker +\+\.118 +\[\+\.080, \+\.150\] +yes$/);
});
