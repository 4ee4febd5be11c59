import { microsoft, type Value } from "../../../onnx/onnx-model.ts";
import type { Tape } from "../tape.ts";

/** Heads and scale of an attention. */
export interface AttentionShape {
  readonly heads: number;
  readonly keyValueHeads: number;
  /** Multiplies the scores: 1 / sqrt(head size). */
  readonly scale: number;
}

/**
 * softmax(scale * q k^T + mask) v with q [B, KV, G*T, size] (the G query heads of a key-value head lie one after the other,
 * so that grouped-query attention repeats no keys), k and v [B, KV, S, size], mask [B or 1, 1, T, S].
 */
export function attention(tape: Tape, query: Value, key: Value, value: Value, mask: Value, shape: AttentionShape): Value {
  const { heads, keyValueHeads, scale } = shape;
  const product = (left: Value, right: Value, transA: number, transB: number, alpha = 1) =>
    tape.apply("FusedMatMul", [left, right], { transA, transB, alpha: { float: alpha } }, microsoft);
  const asShape = (x: Value, rows: number) => tape.apply("Reshape", [x, tape.graph.integers(0, rows, -1, 0)]);
  const scores = product(query, key, 0, 1, scale);
  let probabilities: Value;
  if (heads === keyValueHeads) {
    probabilities = tape.apply("Softmax", [tape.apply("Add", [scores, mask])], { axis: -1 });
  } else {
    // The mask speaks of query positions and is the same for every head: it is added in the shape [B, heads, T, S].
    const masked = tape.apply("Add", [asShape(scores, heads), mask]);
    probabilities = asShape(tape.apply("Softmax", [masked], { axis: -1 }), keyValueHeads);
  }
  const output = tape.apply("MatMul", [probabilities, value]);
  return tape.record([query, key, value], output, (d) => {
    tape.accumulate(value, product(probabilities, d, 1, 0));
    // Softmax: dS = P * (dP - rowsum(dP * P)), and that row sum is the short one of dO * O.
    const rowTerm = tape.apply("ReduceSum", [tape.apply("Mul", [d, output]), tape.graph.integers(-1)], { keepdims: 1 });
    const difference = tape.apply("Sub", [product(d, value, 0, 1), rowTerm]);
    const dScores = tape.apply("Mul", [difference, probabilities]);
    tape.accumulate(query, product(dScores, key, 0, 0, scale));
    tape.accumulate(key, product(dScores, query, 1, 0, scale));
  });
}
