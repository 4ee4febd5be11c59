import type * as ort from "onnxruntime-node";
import { describe, expect, it } from "vitest";
import type { ElementType, Value } from "../../../onnx/onnx-model.ts";
import { createSession, floatTensor, integerTensor } from "../../../onnx/session.ts";
import { Rng } from "../../../rng.ts";
import { elementCount } from "../architecture.ts";
import { causalMask, rotaryTables } from "../runtime.ts";
import { accumulatedName, gradientName, Tape } from "../tape.ts";
import { attention } from "./attention.ts";
import { linear } from "./linear.ts";
import { reshape, transpose } from "./reshape.ts";
import { rmsNorm } from "./rms-norm.ts";
import { rotary } from "./rotary.ts";
import { selectRows } from "./select-rows.ts";
import { swiglu } from "./swiglu.ts";

const rng = new Rng(5);
const random = (...shape: number[]) =>
  floatTensor(
    Float32Array.from({ length: elementCount(shape) }, () => rng.normal()),
    shape,
  );

interface Case {
  /** Inputs whose gradients are checked. */
  readonly inputs: Record<string, ort.Tensor>;
  /** Other graph inputs; those that the operator declares itself have no type here. */
  readonly constants?: Record<string, ort.Tensor>;
  readonly declare?: Record<string, ElementType>;
  readonly output: readonly number[];
  readonly build: (tape: Tape) => Value;
}

/** The largest difference of the analytic gradient of sum(output * R) from central differences, relative to the largest gradient. */
async function gradientError({ inputs, constants = {}, declare = {}, output, build }: Case): Promise<number> {
  const tape = new Tape();
  const { graph } = tape;
  for (const [name, tensor] of Object.entries(inputs)) tape.parameter(name, tensor.dims);
  for (const [name, type] of Object.entries(declare)) graph.input(name, type, constants[name]?.dims ?? []);
  const y = build(tape);
  graph.input("R", "float", output);
  tape.setGradient(y, "R");
  graph.node("ReduceSum", [graph.apply("Mul", [y, "R"])], ["objective"], { keepdims: 0 });
  graph.output("objective", "float", []);
  tape.backward();
  const session = await createSession(graph.build(), 1);
  const zeros = Object.fromEntries(
    Object.entries(inputs).map(([name, tensor]) => [accumulatedName(name), floatTensor(new Float32Array(tensor.size), tensor.dims)]),
  );
  const feeds = { ...inputs, ...constants, ...zeros, R: random(...output) };
  const objective = async () => (await session.run(feeds, ["objective"]))["objective"]?.data[0] as number;
  const gradients = await session.run(feeds);
  let worst = 0;
  for (const [name, tensor] of Object.entries(inputs)) {
    const numbers = tensor.data as Float32Array;
    const gradient = gradients[gradientName(name)]?.data as Float32Array;
    const scale = gradient.reduce((largest, value) => Math.max(largest, Math.abs(value)), 1e-6);
    for (let index = 0; index < numbers.length; index++) {
      const original = numbers[index] as number;
      const at = async (value: number) => {
        numbers[index] = value;
        return { value: numbers[index] as number, objective: await objective() };
      };
      const high = await at(original + 1e-2);
      const low = await at(original - 1e-2);
      numbers[index] = original;
      const difference = (high.objective - low.objective) / (high.value - low.value);
      worst = Math.max(worst, Math.abs(difference - (gradient[index] as number)) / scale);
    }
  }
  await session.release();
  return worst;
}

const rotaryShape = { maxPositions: 16, headSize: 8, ropeTheta: 100 } as Parameters<typeof rotaryTables>[0];
const context = { positions: "positions", cosine: "cosine", sine: "sine", negativeSine: "negativeSine" };

const cases: Record<string, Case> = {
  "linear without addend": { inputs: { x: random(6, 5), w: random(7, 5) }, output: [6, 7], build: (tape) => linear(tape, "x", "w") },
  "linear with bias": {
    inputs: { x: random(6, 5), w: random(7, 5), b: random(7) },
    output: [6, 7],
    build: (tape) => linear(tape, "x", "w", { bias: "b" }),
  },
  "linear with its input as residual": {
    inputs: { x: random(6, 5), w: random(5, 5) },
    output: [6, 5],
    build: (tape) => linear(tape, "x", "w", { residual: "x" }),
  },
  "two linears of one input": {
    inputs: { x: random(4, 5), w: random(3, 5), v: random(3, 5) },
    output: [4, 3],
    build: (tape) => swiglu(tape, linear(tape, "x", "w"), linear(tape, "x", "v")),
  },
  rmsNorm: { inputs: { x: random(4, 8), g: random(8) }, output: [4, 8], build: (tape) => rmsNorm(tape, "x", "g", 8, 1e-5) },
  swiglu: { inputs: { g: random(4, 8), u: random(4, 8) }, output: [4, 8], build: (tape) => swiglu(tape, "g", "u") },
  rotary: {
    inputs: { x: random(2, 3, 16) },
    constants: { positions: integerTensor([0, 1, 2, 3, 4, 9], [2, 3]), ...rotaryTables(rotaryShape) },
    declare: { positions: "int64", cosine: "float", sine: "float", negativeSine: "float" },
    output: [2, 3, 16],
    build: (tape) => rotary(tape, "x", 2, context),
  },
  "reshape and transpose": {
    inputs: { x: random(2, 3, 8) },
    output: [2, 2, 3, 4],
    build: (tape) => transpose(tape, reshape(tape, "x", [0, 0, 2, 4], [0, 0, 8]), [0, 2, 1, 3]),
  },
  "attention, one key-value head a query head": {
    inputs: { q: random(2, 2, 5, 4), k: random(2, 2, 5, 4), v: random(2, 2, 5, 4) },
    constants: { mask: causalMask(5) },
    declare: { mask: "float" },
    output: [2, 2, 5, 4],
    build: (tape) => attention(tape, "q", "k", "v", "mask", { heads: 2, keyValueHeads: 2, scale: 0.5 }),
  },
  "attention, grouped queries": {
    inputs: { q: random(2, 2, 10, 4), k: random(2, 2, 5, 4), v: random(2, 2, 5, 4) },
    constants: { mask: causalMask(5) },
    declare: { mask: "float" },
    output: [2, 2, 10, 4],
    build: (tape) => attention(tape, "q", "k", "v", "mask", { heads: 4, keyValueHeads: 2, scale: 0.5 }),
  },
  "selection of rows": {
    inputs: { x: random(5, 3) },
    constants: { rows: integerTensor([3, 0, 4]) },
    declare: { rows: "int64" },
    output: [3, 3],
    build: (tape) => selectRows(tape, "x", "rows"),
  },
  "selection of rows that are used otherwise too": {
    inputs: { x: random(5, 3), w: random(3, 3) },
    constants: { rows: integerTensor([3, 0, 4, 1, 2]) },
    declare: { rows: "int64" },
    output: [5, 3],
    build: (tape) => {
      const selected = selectRows(tape, "x", "rows");
      return linear(tape, "x", "w", { residual: selected });
    },
  },
};

describe("gradients against finite differences", () => {
  it.each(Object.entries(cases))("%s", async (_name, one) => {
    expect(await gradientError(one)).toBeLessThan(5e-3);
  });
});

describe("Tape", () => {
  it("adds to the gradient that has been accumulated, in the same memory", async () => {
    const tape = new Tape();
    tape.parameter("w", [2, 2]);
    const y = linear(tape, tape.graph.input("x", "float", ["N", 2]), "w");
    tape.setGradient(y, tape.graph.input("dy", "float", ["N", 2]));
    tape.backward();
    const session = await createSession(tape.graph.build(), 1);
    const gradient = floatTensor(Float32Array.of(1, 2, 3, 4), [2, 2]);
    const ones = floatTensor(new Float32Array(6).fill(1), [3, 2]);
    const feeds = { x: ones, dy: ones, w: ones, [accumulatedName("w")]: gradient };
    await session.run({ ...feeds, w: floatTensor(new Float32Array(4), [2, 2]) }, { [gradientName("w")]: gradient });
    expect(Array.from(gradient.data as Float32Array)).toEqual([4, 5, 6, 7]);
    await session.release();
  });
});
