import { describe, expect, it } from "vitest";
import { parameterCount } from "../src/engine/embedded/architecture.ts";
import { benchmarkModels, forwardFlops, publishedShapes } from "./model-shapes.ts";
import { median } from "./options.ts";

describe("benchmarkModels", () => {
  it.each(Object.entries(benchmarkModels))("%s is named after its size", (name, shape) => {
    const millions = parameterCount(shape) / 1e6;
    expect(millions).toBeGreaterThan(Number.parseFloat(name) * 0.95);
    expect(millions).toBeLessThan(Number.parseFloat(name) * 1.05);
  });
});

describe("publishedShapes", () => {
  it.each([
    ["135M", 134_515_008],
    ["500M", 494_032_768],
  ] as const)("%s has as many parameters as the published model", (name, parameters) => {
    expect(parameterCount(publishedShapes[name])).toBe(parameters);
  });
});

describe("forwardFlops", () => {
  const { "1.7M": shape } = benchmarkModels;

  it("counts every product of one layer and the head", () => {
    const layer = 4 * 192 * 192 + 3 * 192 * 512;
    expect(forwardFlops(shape, 1, 0)).toBe(2 * (3 * layer + 2048 * 192));
  });

  it("counts scores and weighted values of each seen key", () => {
    expect(forwardFlops(shape, 10, 5) - forwardFlops(shape, 10, 0)).toBe(10 * 3 * (2 + 2) * 192 * 5);
  });

  it("does not count the embedding of an untied model as a product", () => {
    expect(forwardFlops({ ...shape, tiedHead: false }, 7, 3)).toBe(forwardFlops(shape, 7, 3));
  });
});

describe("median", () => {
  it("is the middle, or the mean of the middle two", () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([7])).toBe(7);
  });
});
