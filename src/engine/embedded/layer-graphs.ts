/**
 * The model in three graphs for layer-by-layer execution: one layer forward, one layer recomputed and backward (both shared by
 * all layers but the last, which computes only the positions that the loss needs; weights are inputs), and the head. Only the
 * activations between layers are kept, so that memory grows with layers x B x T x hidden instead of with everything that the
 * whole graph keeps. Gradients are those of the whole graph.
 */

import type { LoraShape } from "../engine.ts";
import type { ModelShape, ParameterSpec } from "./architecture.ts";
import { decoderLayer, layerContext, selectedQueries } from "./decoder-layer.ts";
import { type HeadVariant, headLoss } from "./head-loss.ts";
import { rmsNorm } from "./ops/rms-norm.ts";
import { selectRows } from "./ops/select-rows.ts";
import { Tape } from "./tape.ts";
import { declareWeights, finalNormName, headName, layerPrefix } from "./train-graph.ts";

/** Name endings of a layer's tensors among these, e.g. `mlp.up_proj.weight`: the graphs below call them so, for any layer. */
export function layerSuffixes(specs: readonly ParameterSpec[]): string[] {
  const prefix = layerPrefix(0);
  return specs.flatMap((spec) => (spec.name.startsWith(prefix) ? [spec.name.slice(prefix.length)] : []));
}

/**
 * One layer. Forward: `x` [B*T, hidden] and the context's inputs in, `y` out: as many rows, or with `last` those of
 * `selectedQueries`. Differentiated: also `dy` in, `dx` and `gradient.<suffix>` out; `y` is not put out again.
 */
export function layerGraph(shape: ModelShape, last: boolean, differentiate: boolean, lora?: LoraShape): Uint8Array {
  const tape = new Tape(differentiate);
  const { graph } = tape;
  const x = graph.input("x", "float", ["N", shape.hiddenSize]);
  tape.track(x);
  const context = layerContext(tape, shape);
  const selected = last ? selectedQueries(tape, shape, context) : undefined;
  const outputRows = last ? "BR" : "N";
  const y = decoderLayer(tape, shape, x, { parameter: declareWeights(tape, shape, lora, layerPrefix(0)), lora }, context, selected);
  if (differentiate) {
    tape.setGradient(y, graph.input("dy", "float", [outputRows, shape.hiddenSize]));
    tape.backward();
    graph.node("Identity", [tape.gradient(x)], ["dx"]);
    graph.output("dx", "float", ["N", shape.hiddenSize]);
  } else {
    graph.node("Identity", [y], ["y"]);
    graph.output("y", "float", [outputRows, shape.hiddenSize]);
  }
  return graph.build();
}

/** Final norm, head and loss over `x` [B*R, hidden] at `rows`: the outputs of `headLoss`, and `dx` when differentiating. */
export function headGraph(shape: ModelShape, variant: HeadVariant, differentiate: boolean, lora?: LoraShape): Uint8Array {
  const tape = new Tape(differentiate);
  const { graph } = tape;
  const x = graph.input("x", "float", ["N", shape.hiddenSize]);
  tape.track(x);
  const parameter = declareWeights(tape, shape, lora);
  const gain = parameter(finalNormName);
  const matrix = parameter(headName(shape));
  const rows = selectRows(tape, x, graph.input("rows", "int64", ["M"]));
  const hidden = rmsNorm(tape, rows, gain, shape.hiddenSize, shape.rmsNormEps);
  headLoss(tape, hidden, matrix, shape.vocabularySize, shape.hiddenSize, variant);
  if (differentiate) {
    tape.backward();
    graph.node("Identity", [tape.gradient(x)], ["dx"]);
    graph.output("dx", "float", ["N", shape.hiddenSize]);
  }
  return graph.build();
}
