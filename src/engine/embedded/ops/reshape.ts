import type { Value } from "../../../onnx/onnx-model.ts";
import type { Tape } from "../tape.ts";

/** x in another shape; `shape` and `inverse` are constants (0 keeps a size, -1 infers one) or computed shape values. */
export function reshape(tape: Tape, x: Value, shape: readonly number[] | Value, inverse: readonly number[] | Value): Value {
  const constant = (sizes: readonly number[] | Value) => (typeof sizes === "string" ? sizes : tape.graph.integers(...sizes));
  const y = tape.apply("Reshape", [x, constant(shape)]);
  return tape.record([x], y, (dy) => tape.accumulate(x, tape.apply("Reshape", [dy, constant(inverse)])));
}

/** x with its axes permuted. */
export function transpose(tape: Tape, x: Value, permutation: readonly number[]): Value {
  const inverse = permutation.map((_, axis) => permutation.indexOf(axis));
  const y = tape.apply("Transpose", [x], { perm: permutation });
  return tape.record([x], y, (dy) => tape.accumulate(x, tape.apply("Transpose", [dy], { perm: inverse })));
}
