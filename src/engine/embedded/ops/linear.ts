import type { Value } from "../../../onnx/onnx-model.ts";
import type { Tape } from "../tape.ts";

/**
 * y = x W^T + addend, with x [N, in], W [out, in] (the Hugging Face layout). The addend is a bias [out] or a residual
 * [N, out]; either costs no pass of its own, because the product starts from it.
 */
export function linear(tape: Tape, x: Value, weight: Value, addend?: { readonly bias: Value } | { readonly residual: Value }): Value {
  const bias = addend && "bias" in addend ? addend.bias : undefined;
  const residual = addend && "residual" in addend ? addend.residual : undefined;
  const added = bias ?? residual;
  const inputs = added === undefined ? [x, weight] : [x, weight, added];
  const y = tape.apply("Gemm", inputs, { transB: 1 });
  return tape.record(inputs, y, (dy) => {
    tape.accumulateProduct(weight, dy, x, { transA: 1 });
    if (residual !== undefined) tape.accumulate(residual, dy);
    if (bias !== undefined && tape.isTracked(bias)) {
      tape.accumulate(bias, tape.apply("ReduceSum", [dy, tape.graph.integers(0)], { keepdims: 0 }));
    }
    tape.accumulateProduct(x, dy, weight);
  });
}
