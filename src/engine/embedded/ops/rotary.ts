import { microsoft, type Value } from "../../../onnx/onnx-model.ts";
import type { Tape } from "../tape.ts";

/** The graph inputs that rotary embedding needs: positions [B, T] and the tables of `rotaryTables`. */
export interface RotaryInputs {
  readonly positions: Value;
  readonly cosine: Value;
  readonly sine: Value;
  readonly negativeSine: Value;
}

/** Rotary embedding of x [B, T, heads * headSize]; backwards the same rotation by the opposite angle. */
export function rotary(tape: Tape, x: Value, heads: number, inputs: RotaryInputs): Value {
  const rotate = (value: Value, sine: Value) =>
    tape.apply(
      "RotaryEmbedding",
      [value, inputs.positions, inputs.cosine, sine],
      { num_heads: heads, rotary_embedding_dim: 0, interleaved: 0 },
      microsoft,
    );
  return tape.record([x], rotate(x, inputs.sine), (dy) => tape.accumulate(x, rotate(dy, inputs.negativeSine)));
}
