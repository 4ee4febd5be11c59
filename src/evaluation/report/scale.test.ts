import { describe, expect, test } from "vitest";
import { duration, meanCurve, roundAxis, score, signed, smooth } from "./scale.ts";

describe("roundAxis", () => {
  test("covers the values with round steps", () => {
    expect(roundAxis([0.437, 0.626])).toEqual({ low: 0.4, high: 0.65, ticks: [0.4, 0.45, 0.5, 0.55, 0.6, 0.65] });
    expect(roundAxis([1, 120]).ticks).toEqual([0, 50, 100, 150]);
  });

  test("stays inside its bounds and survives constant and empty data", () => {
    expect(roundAxis([0.97, 1], 4, [0, 1]).high).toBe(1);
    const constant = roundAxis([1, 1], 4, [0, 1]);
    expect(constant.high).toBe(1);
    expect(constant.low).toBeLessThan(1);
    expect(roundAxis([])).toMatchObject({ low: 0, high: 1 });
  });
});

test("smooth averages neighbours and skips missing values", () => {
  const points = [0, 3, Number.NaN, 6].map((y, x) => ({ x, y }));
  expect(smooth(points, 1).map(({ y }) => y)).toEqual([1.5, 1.5, 4.5, 6]);
});

test("meanCurve averages the curves that have a point at x", () => {
  const curves = [
    [
      { x: 1, y: 1 },
      { x: 2, y: 4 },
    ],
    [{ x: 1, y: 3 }],
  ];
  expect(meanCurve(curves)).toEqual([
    { x: 1, y: 2 },
    { x: 2, y: 4 },
  ]);
});

test("scores are printed the way the field prints them", () => {
  expect([score(0.6257), score(1), score(-0.0123), score(-0.0001), score(Number.NaN)]).toEqual([".626", "1.000", "−.012", ".000", "–"]);
  expect([signed(0.118), signed(-0.004), signed(0.0001)]).toEqual(["+.118", "−.004", ".000"]);
});

test("durations are readable", () => {
  expect([duration(45), duration(185), duration(4330)]).toEqual(["45 s", "3 min 5 s", "1 h 12 min"]);
});
