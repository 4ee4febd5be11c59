/** The whole model as one graph: tokens and weights in, log-probabilities and (when differentiated) gradients out. */

import type { Value } from "../../onnx/onnx-model.ts";
import type { LoraShape } from "../engine.ts";
import { type ModelShape, type ParameterSpec, parameterSpecs } from "./architecture.ts";
import { decoderLayer, layerContext, selectedQueries } from "./decoder-layer.ts";
import { type HeadVariant, headLoss } from "./head-loss.ts";
import { adapterSpecs } from "./lora.ts";
import { rmsNorm } from "./ops/rms-norm.ts";
import { selectRows } from "./ops/select-rows.ts";
import { Tape } from "./tape.ts";

/** Hugging Face name of the embedding. */
export const embeddingName = "model.embed_tokens.weight";
/** Hugging Face name of the gain before the head. */
export const finalNormName = "model.norm.weight";

/** The Hugging Face name of the matrix that the output head multiplies with. */
export function headName(shape: ModelShape): string {
  return shape.tiedHead ? embeddingName : "lm_head.weight";
}

/** The prefix of a layer's tensor names. */
export function layerPrefix(layer: number): string {
  return `model.layers.${layer}.`;
}

/**
 * Declares the tensors of a model (or of one layer, by the ends of their names) as graph inputs, each when first asked for. With an adapter
 * only its tensors are differentiated: the model's own are frozen.
 */
export function declareWeights(tape: Tape, shape: ModelShape, lora: LoraShape | undefined, prefix = ""): (name: string) => Value {
  const sizes = (specs: readonly ParameterSpec[]) => new Map(specs.map((spec) => [spec.name, spec.shape]));
  const own = sizes(parameterSpecs(shape));
  const adapter = lora === undefined ? undefined : sizes(adapterSpecs(shape, lora));
  return (name) => {
    const size = own.get(prefix + name);
    if (size === undefined) return tape.parameter(name, adapter?.get(prefix + name) as readonly number[]);
    return adapter === undefined ? tape.parameter(name, size) : tape.graph.input(name, "float", size);
  };
}

/**
 * Inputs: `tokens` [B, T], those of `layerContext` and `selectedQueries`, `rows` [M] (of the selected positions) and the head's
 * inputs, all weights under their Hugging Face names (those of an adapter too) and, when differentiating, the gradients so far
 * (`accumulated.<name>`). Outputs: those of `headLoss`, `gradient.<name>` and, without an adapter, `embeddingGradient` [B*T, hidden],
 * which is added to the rows of the tokens on the host.
 */
export function trainGraph(shape: ModelShape, variant: HeadVariant, differentiate = true, lora?: LoraShape): Uint8Array {
  const tape = new Tape(differentiate);
  const { graph } = tape;
  const parameter = declareWeights(tape, shape, lora);
  const tokens = graph.input("tokens", "int64", ["B", "T"]);
  const matrixShape = [shape.vocabularySize, shape.hiddenSize];
  // The gradient of an untied embedding is made on the host alone; a tied one also gets the head's part in the graph.
  const matrix = shape.tiedHead ? parameter(embeddingName) : graph.input(embeddingName, "float", matrixShape);
  if (lora === undefined) tape.track(matrix);
  const embedded = tape.apply("Gather", [matrix, tape.apply("Reshape", [tokens, graph.integers(-1)])], { axis: 0 });
  let x = tape.record([matrix], embedded, (d) => {
    graph.node("Identity", [d], ["embeddingGradient"]);
    graph.output("embeddingGradient", "float", ["N", shape.hiddenSize]);
  });
  const context = layerContext(tape, shape);
  const selected = selectedQueries(tape, shape, context);
  for (let layer = 0; layer < shape.layers; layer++) {
    const last = layer === shape.layers - 1 ? selected : undefined;
    x = decoderLayer(tape, shape, x, { parameter: (suffix) => parameter(layerPrefix(layer) + suffix), lora }, context, last);
  }
  const rows = selectRows(tape, x, graph.input("rows", "int64", ["M"]));
  const hidden = rmsNorm(tape, rows, parameter(finalNormName), shape.hiddenSize, shape.rmsNormEps);
  headLoss(tape, hidden, shape.tiedHead ? matrix : parameter("lm_head.weight"), shape.vocabularySize, shape.hiddenSize, variant);
  if (differentiate) tape.backward();
  return graph.build();
}
