/** One decoder layer on a tape: what the whole graph repeats and what layer-by-layer execution runs alone. */

import type { Value } from "../../onnx/onnx-model.ts";
import type { LoraShape } from "../engine.ts";
import type { ModelShape } from "./architecture.ts";
import { adapterNames, isAdapted, loraScale } from "./lora.ts";
import { attention } from "./ops/attention.ts";
import { linear } from "./ops/linear.ts";
import { reshape, transpose } from "./ops/reshape.ts";
import { rmsNorm } from "./ops/rms-norm.ts";
import { type RotaryInputs, rotary } from "./ops/rotary.ts";
import { selectRows } from "./ops/select-rows.ts";
import { swiglu } from "./ops/swiglu.ts";
import type { Tape } from "./tape.ts";

/** A batch of query positions: all of them, or those that the loss needs. */
interface Queries {
  /** Positions [B, R]. */
  readonly positions: Value;
  /** Additive attention mask [B or 1, 1, R, T]. */
  readonly mask: Value;
  /** Shape values [B, R, heads * size] and [B, R, heads, size]. */
  readonly flatHeads: Value;
  readonly splitHeads: Value;
}

/** Graph inputs and shape values that all layers share. */
export interface LayerContext {
  readonly tables: Omit<RotaryInputs, "positions">;
  /** Every position as a query: R = T. */
  readonly queries: Queries;
  /** Shape values of keys and values: [B, T, heads * size] and [B, T, heads, size]. */
  readonly flatKeys: Value;
  readonly splitKeys: Value;
}

/** The positions that the loss needs, for the last layer: the others go into it as keys and values only. */
export interface SelectedQueries extends Queries {
  /** Flat indices [B*R] of the positions in [B*T]; distinct. */
  readonly rows: Value;
}

function queryShapes(tape: Tape, shape: ModelShape, positions: Value) {
  const size = tape.apply("Shape", [positions]);
  const withHeads = (...sizes: number[]) => tape.apply("Concat", [size, tape.graph.integers(...sizes)], { axis: 0 });
  return { flat: (heads: number) => withHeads(heads * shape.headSize), split: (heads: number) => withHeads(heads, shape.headSize) };
}

/** Declares the inputs that layers need: `positions` [B, T], `mask`, `cosine`, `sine` and, for gradients, `negativeSine`. */
export function layerContext(tape: Tape, shape: ModelShape): LayerContext {
  const { graph } = tape;
  const positions = graph.input("positions", "int64", ["B", "T"]);
  const mask = graph.input("mask", "float", ["maskBatch", 1, "T", "T"]);
  const table = (name: string) => graph.input(name, "float", [shape.maxPositions, shape.headSize / 2]);
  const cosine = table("cosine");
  const sine = table("sine");
  const negativeSine = tape.differentiate ? table("negativeSine") : sine;
  const { flat, split } = queryShapes(tape, shape, positions);
  return {
    tables: { cosine, sine, negativeSine },
    queries: { positions, mask, flatHeads: flat(shape.heads), splitHeads: split(shape.heads) },
    flatKeys: flat(shape.keyValueHeads),
    splitKeys: split(shape.keyValueHeads),
  };
}

/**
 * Declares the inputs that name the last layer's queries: `selectedRows` [B*R], `selectedPositions` [B, R] and
 * `selectedMaskRows` [B, R], the rows of the mask (all its matrices one under the other) that belong to them.
 */
export function selectedQueries(tape: Tape, shape: ModelShape, context: LayerContext): SelectedQueries {
  const { graph } = tape;
  const rows = graph.input("selectedRows", "int64", ["BR"]);
  const positions = graph.input("selectedPositions", "int64", ["B", "R"]);
  const maskRows = graph.input("selectedMaskRows", "int64", ["B", "R"]);
  const stacked = tape.apply("Flatten", [context.queries.mask], { axis: 3 });
  const mask = tape.apply("Unsqueeze", [tape.apply("Gather", [stacked, maskRows], { axis: 0 }), graph.integers(1)]);
  const { flat, split } = queryShapes(tape, shape, positions);
  return { rows, positions, mask, flatHeads: flat(shape.heads), splitHeads: split(shape.heads) };
}

/** The graph values of a layer's tensors. */
export interface LayerWeights {
  /** By the end of a tensor's Hugging Face name, e.g. `mlp.up_proj.weight`. */
  readonly parameter: (suffix: string) => Value;
  /** Which projections have an adapter besides. */
  readonly lora: LoraShape | undefined;
}

/** x [B*T, hidden] through one layer. With `selected` (the last layer) the result is [B*R, hidden]. */
export function decoderLayer(
  tape: Tape,
  shape: ModelShape,
  x: Value,
  { parameter, lora }: LayerWeights,
  context: LayerContext,
  selected?: SelectedQueries,
): Value {
  const { heads, keyValueHeads, headSize, hiddenSize, rmsNormEps } = shape;
  const queries = selected ?? context.queries;
  const pick = (rows: Value) => (selected === undefined ? rows : selectRows(tape, rows, selected.rows));
  const multiply = (input: Value, weight: string, addend?: Parameters<typeof linear>[3]): Value => {
    if (!isAdapted(lora, weight)) return linear(tape, input, parameter(weight), addend);
    const { a, b } = adapterNames(weight);
    return linear(tape, input, parameter(weight), addend, { a: parameter(a), b: parameter(b), scale: loraScale(lora) });
  };
  const normalised = rmsNorm(tape, x, parameter("input_layernorm.weight"), hiddenSize, rmsNormEps);
  const project = (input: Value, name: "q_proj" | "k_proj" | "v_proj"): Value => {
    const bias = shape.qkvBias ? { bias: parameter(`self_attn.${name}.bias`) } : undefined;
    return multiply(input, `self_attn.${name}.weight`, bias);
  };
  const headNorm = (projected: Value, count: number, name: "q_norm" | "k_norm"): Value => {
    if (!shape.queryKeyNorm) return projected;
    const separate = reshape(tape, projected, [-1, headSize], [-1, count * headSize]);
    return reshape(
      tape,
      rmsNorm(tape, separate, parameter(`self_attn.${name}.weight`), headSize, rmsNormEps),
      [-1, count * headSize],
      [-1, headSize],
    );
  };
  /** [N, heads * size] turned by its positions, as [B, heads, R, size]. */
  const turn = (projected: Value, count: number, flatShape: Value, positions: Value): Value => {
    const flat = reshape(tape, projected, flatShape, [-1, count * headSize]);
    const turned = rotary(tape, flat, count, { positions, ...context.tables });
    return transpose(tape, reshape(tape, turned, [0, 0, count, headSize], [0, 0, count * headSize]), [0, 2, 1, 3]);
  };
  const perHead = turn(headNorm(project(pick(normalised), "q_proj"), heads, "q_norm"), heads, queries.flatHeads, queries.positions);
  const query = reshape(tape, perHead, [0, keyValueHeads, -1, headSize], [0, heads, -1, headSize]);
  const key = turn(
    headNorm(project(normalised, "k_proj"), keyValueHeads, "k_norm"),
    keyValueHeads,
    context.flatKeys,
    context.queries.positions,
  );
  const splitValue = reshape(tape, project(normalised, "v_proj"), context.splitKeys, [-1, keyValueHeads * headSize]);
  const attended = attention(tape, query, key, transpose(tape, splitValue, [0, 2, 1, 3]), queries.mask, {
    heads,
    keyValueHeads,
    scale: 1 / Math.sqrt(headSize),
  });
  const separate = reshape(tape, attended, [0, heads, -1, headSize], [0, keyValueHeads, -1, headSize]);
  const merged = reshape(tape, transpose(tape, separate, [0, 2, 1, 3]), [-1, heads * headSize], queries.splitHeads);
  const afterAttention = multiply(merged, "self_attn.o_proj.weight", { residual: pick(x) });

  const inner = rmsNorm(tape, afterAttention, parameter("post_attention_layernorm.weight"), hiddenSize, rmsNormEps);
  const gate = multiply(inner, "mlp.gate_proj.weight");
  const up = multiply(inner, "mlp.up_proj.weight");
  return multiply(swiglu(tape, gate, up), "mlp.down_proj.weight", { residual: afterAttention });
}
