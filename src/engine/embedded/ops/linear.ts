import type { Value } from "../../../onnx/onnx-model.ts";
import type { Tape } from "../tape.ts";

/** A low-rank adapter beside a weight: A [rank, in], B [out, rank], and the scale of their product. */
export interface Adapter {
  readonly a: Value;
  readonly b: Value;
  readonly scale: number;
}

/**
 * y = x W^T + addend, with x [N, in], W [out, in] (the Hugging Face layout), plus the adapter's part. The addend is a bias [out] or a
 * residual [N, out]; either costs no pass of its own, because the product starts from it.
 */
export function linear(
  tape: Tape,
  x: Value,
  weight: Value,
  addend?: { readonly bias: Value } | { readonly residual: Value },
  adapter?: Adapter,
): Value {
  const frozen = product(tape, x, weight, addend);
  return adapter === undefined ? frozen : adapted(tape, x, frozen, adapter);
}

/** `frozen` + scale (x A^T) B^T. */
function adapted(tape: Tape, x: Value, frozen: Value, { a, b, scale }: Adapter): Value {
  const alpha = { float: scale };
  const inner = tape.apply("Gemm", [x, a], { transB: 1, alpha });
  const y = tape.apply("Gemm", [inner, b, frozen], { transB: 1 });
  return tape.record([x, frozen, a, b], y, (dy) => {
    tape.accumulate(frozen, dy);
    tape.accumulateProduct(b, dy, inner, { transA: 1 });
    const dInner = tape.apply("Gemm", [dy, b], { alpha });
    tape.accumulateProduct(a, dInner, x, { transA: 1 });
    tape.accumulateProduct(x, dInner, a);
  });
}

function product(tape: Tape, x: Value, weight: Value, addend?: { readonly bias: Value } | { readonly residual: Value }): Value {
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
