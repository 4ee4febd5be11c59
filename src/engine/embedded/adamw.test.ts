import { describe, expect, it } from "vitest";
import { Rng } from "../../rng.ts";
import { adamWStep, updateInScript } from "./adamw.ts";
import type { ModelShape } from "./architecture.ts";
import { Parameters } from "./parameters.ts";

const shape: ModelShape = {
  architecture: "qwen2",
  vocabularySize: 7,
  hiddenSize: 6,
  layers: 1,
  heads: 1,
  keyValueHeads: 1,
  headSize: 6,
  intermediateSize: 5,
  rmsNormEps: 1e-5,
  ropeTheta: 10000,
  maxPositions: 8,
  qkvBias: true,
  queryKeyNorm: false,
  tiedHead: true,
};
const options = { learningRate: 0.01, beta1: 0.9, beta2: 0.98, eps: 1e-8, weightDecay: 0.1, maxGradNorm: 1 };

function filled(): Parameters {
  const parameters = new Parameters(shape);
  parameters.initialise(1, 1);
  return parameters;
}

describe("adamWStep", () => {
  it("follows the textbook update for three steps, clipped, with decay on matrices only", () => {
    const parameters = filled();
    const rng = new Rng(1);
    const decays = new Map(parameters.specs.map((spec) => [spec.name, spec.kind === "linear" || spec.kind === "embedding"]));
    const expected = new Map(
      parameters.specs.map(({ name }) => [
        name,
        { weights: Array.from(parameters.view(name)), first: [] as number[], second: [] as number[] },
      ]),
    );
    for (let step = 1; step <= 3; step++) {
      let squares = 0;
      for (const { name } of parameters.specs) {
        const gradient = parameters.view(name, "gradients");
        for (let index = 0; index < gradient.length; index++) {
          gradient[index] = rng.normal();
          squares += (gradient[index] as number) ** 2;
        }
      }
      const norm = Math.sqrt(squares);
      for (const { name } of parameters.specs) {
        const state = expected.get(name) as { weights: number[]; first: number[]; second: number[] };
        parameters.view(name, "gradients").forEach((raw, index) => {
          const gradient = raw / norm;
          const first = 0.9 * (state.first[index] ?? 0) + 0.1 * gradient;
          const second = 0.98 * (state.second[index] ?? 0) + 0.02 * gradient ** 2;
          state.first[index] = first;
          state.second[index] = second;
          const decayed = (state.weights[index] as number) * (decays.get(name) ? 1 - 0.01 * 0.1 : 1);
          state.weights[index] = decayed - (0.01 * (first / (1 - 0.9 ** step))) / (Math.sqrt(second / (1 - 0.98 ** step)) + 1e-8);
        });
      }
      expect(adamWStep(parameters, step, options) / norm).toBeCloseTo(1, 6);
      expect(parameters.gradients.every((value) => value === 0)).toBe(true);
    }
    for (const { name } of parameters.specs) {
      parameters.view(name).forEach((weight, index) => {
        expect(weight).toBeCloseTo(expected.get(name)?.weights[index] as number, 5);
      });
    }
  });

  it("updates in WebAssembly as it does in script", () => {
    const [fast, slow] = [filled(), filled()];
    const rng = new Rng(6);
    for (const { offset, length } of fast.spans) {
      for (let index = offset; index < offset + length; index++) {
        fast.gradients[index] = rng.normal();
        slow.gradients[index] = fast.gradients[index] as number;
      }
    }
    const settings = { ...options, weightDecay: 0, maxGradNorm: Number.POSITIVE_INFINITY };
    adamWStep(fast, 1, settings);
    const update = { scale: 1, keep: 1, rate: 0.01 / (1 - 0.9), correction: 1 / Math.sqrt(1 - 0.98), options: settings };
    updateInScript(slow, 0, slow.weights.length, update);
    for (const buffer of ["weights", "firstMoments", "secondMoments"] as const) {
      const difference = fast[buffer].reduce((most, value, index) => Math.max(most, Math.abs(value - (slow[buffer][index] as number))), 0);
      expect(difference).toBeLessThan(1e-6);
    }
  });

  it("does not clip with an infinite maximum", () => {
    const parameters = filled();
    parameters.view("model.norm.weight", "gradients").fill(100);
    expect(adamWStep(parameters, 1, { ...options, maxGradNorm: Number.POSITIVE_INFINITY })).toBeCloseTo(100 * Math.sqrt(6), 3);
    expect(parameters.view("model.norm.weight", "firstMoments")[0]).toBeCloseTo(10, 4);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])("refuses a gradient of %s and leaves weights and moments untouched", (value) => {
    const parameters = filled();
    const before = parameters.weights.slice();
    parameters.view("model.norm.weight", "gradients")[2] = value;
    expect(() => adamWStep(parameters, 4, options)).toThrow(/gradient norm is (NaN|Infinity) at optimiser step 4/);
    expect(parameters.weights).toEqual(before);
    expect(parameters.firstMoments.every((moment) => moment === 0)).toBe(true);
    expect(parameters.gradients.every((gradient) => gradient === 0)).toBe(true);
  });
});
