import type { Value } from "../../../onnx/onnx-model.ts";
import type { Tape } from "../tape.ts";

/** RMSNorm of x [N, size] with gain [size]: y = gain * x / rms(x). The inverse deviation is the operator's second output. */
export function rmsNorm(tape: Tape, x: Value, gain: Value, size: number, eps: number): Value {
  const outputs = tape.graph.node("SimplifiedLayerNormalization", [x, gain], 2, { axis: -1, epsilon: { float: eps }, stash_type: 1 });
  const [y, inverse] = outputs as [Value, Value];
  return tape.record([x, gain], y, (dy) => {
    const normalised = tape.apply("Mul", [x, inverse]);
    const product = tape.apply("Mul", [dy, normalised]);
    if (tape.isTracked(gain)) tape.accumulate(gain, tape.apply("ReduceSum", [product, tape.graph.integers(0)], { keepdims: 0 }));
    if (!tape.isTracked(x)) return;
    // The mean over the row of dy * gain * normalised, as one matrix-vector product.
    const column = tape.apply("Reshape", [gain, tape.graph.integers(-1, 1)]);
    const mean = tape.apply("Gemm", [product, column], { alpha: { float: 1 / size } });
    const inner = tape.apply("Sub", [tape.apply("Mul", [dy, gain]), tape.apply("Mul", [normalised, mean])]);
    tape.accumulate(x, tape.apply("Mul", [inner, inverse]));
  });
}
