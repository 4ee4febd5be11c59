import type { Value } from "../../../onnx/onnx-model.ts";
import type { Tape } from "../tape.ts";

/**
 * The rows of x [N, size] at the indices `rows` [M], which must be distinct: backwards every row is written once (ScatterND
 * with duplicate indices races between threads).
 */
export function selectRows(tape: Tape, x: Value, rows: Value): Value {
  const selected = tape.apply("Gather", [x, rows], { axis: 0 });
  return tape.record([x], selected, (d) => {
    const indices = tape.apply("Reshape", [rows, tape.graph.integers(-1, 1)]);
    const known = tape.knownGradient(x);
    if (known !== undefined) tape.setGradient(x, tape.apply("ScatterND", [known, indices, d], { reduction: "add" }));
    else tape.accumulate(x, tape.apply("ScatterND", [tape.apply("ConstantOfShape", [tape.apply("Shape", [x])]), indices, d]));
  });
}
