import { describe, expect, it } from "vitest";
import { GraphBuilder, microsoft } from "./onnx-model.ts";
import { createSession, floatTensor } from "./session.ts";

describe("GraphBuilder", () => {
  it("builds a model that onnxruntime runs: symbolic sizes, constants, attributes of every kind, both domains", async () => {
    const graph = new GraphBuilder();
    const x = graph.input("x", "float", ["N", 2]);
    const product = graph.apply(
      "FusedMatMul",
      [x, graph.constant("float", [2, 2], [1, 2, 3, 4])],
      { transB: 1, alpha: { float: 0.5 } },
      microsoft,
    );
    const turned = graph.apply("Transpose", [product], { perm: [1, 0] });
    const positive = graph.apply("Cast", [graph.apply("Greater", [turned, graph.scalar(4)])], { to: 1 });
    graph.node("Concat", [graph.apply("Mul", [turned, positive]), graph.apply("Neg", [turned])], ["y"], { axis: -1 });
    graph.output("y", "float", [2, "M"]);
    const session = await createSession(graph.build(), 1);
    const { y } = await session.run({ x: floatTensor(Float32Array.of(1, 1, 2, 2, 3, 3), [3, 2]) });
    expect(y?.dims).toEqual([2, 6]);
    expect(Array.from(y?.data as Float32Array)).toEqual([0, 0, 4.5, -1.5, -3, -4.5, 0, 7, 10.5, -3.5, -7, -10.5]);
    await session.release();
  });

  it("stores equal constants once", () => {
    const graph = new GraphBuilder();
    expect(graph.integers(0, -1)).toBe(graph.integers(0, -1));
    expect(graph.scalar(1)).not.toBe(graph.scalar(2));
    expect(graph.constant("int64", [1], [1])).not.toBe(graph.constant("float", [1], [1]));
  });
});
