import type { Value } from "../../../onnx/onnx-model.ts";
import type { Tape } from "../tape.ts";

/** silu(gate) * up, element by element. */
export function swiglu(tape: Tape, gate: Value, up: Value): Value {
  const sigmoid = tape.apply("Sigmoid", [gate]);
  const activated = tape.apply("Mul", [gate, sigmoid]);
  const y = tape.apply("Mul", [activated, up]);
  return tape.record([gate, up], y, (dy) => {
    tape.accumulate(up, tape.apply("Mul", [dy, activated]));
    // d y / d gate = up * s * (1 + gate (1 - s)) = y + s (up - y): four passes.
    const inner = tape.apply("Mul", [sigmoid, tape.apply("Sub", [up, y])]);
    tape.accumulate(gate, tape.apply("Mul", [dy, tape.apply("Add", [y, inner])]));
  });
}
