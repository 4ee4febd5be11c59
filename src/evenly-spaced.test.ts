import { expect, test } from "vitest";
import { evenlySpaced } from "./evenly-spaced.ts";

test("evenlySpaced keeps the order, starts at the beginning and spreads over the list", () => {
  const items = Array.from({ length: 10 }, (_, index) => index);
  expect(evenlySpaced(items, 4)).toEqual([0, 2, 5, 7]);
  expect(evenlySpaced(items, 1)).toEqual([0]);
  expect(evenlySpaced(items, null)).toEqual(items);
  expect(evenlySpaced(items, 20)).toEqual(items);
});
