/** One decoder layer (Llama, Qwen2) on a tape: what the whole graph repeats and what layer-by-layer execution runs alone. */
import type { ModelShape } from "./architecture.ts";
import type { Value } from "./onnx-model.ts";
import { attention } from "./ops/attention.ts";
import { linear } from "./ops/linear.ts";
import { reshape, transpose } from "./ops/reshape.ts";
import { rmsNorm } from "./ops/rms-norm.ts";
import { type RotaryInputs, rotary } from "./ops/rotary.ts";
import { swiglu } from "./ops/swiglu.ts";
import type { Tape } from "./tape.ts";

/** Graph inputs and shape values that all layers share. */
export interface LayerContext {
  readonly rotary: RotaryInputs;
  /** Additive attention mask [B or 1, 1, T, T]. */
  readonly mask: Value;
  /** Shape values [B, T, heads * size] and [B, T, heads, size] for query heads and for key-value heads. */
  readonly flatHeads: Readonly<Record<"query" | "keyValue", Value>>;
  readonly splitHeads: Readonly<Record<"query" | "keyValue", Value>>;
}

/** Declares the inputs that layers need: `positions` [B, T], `mask`, `cosine`, `sine` and, for gradients, `negativeSine`. */
export function layerContext(tape: Tape, shape: ModelShape): LayerContext {
  const { graph } = tape;
  const positions = graph.input("positions", "int64", ["B", "T"]);
  const mask = graph.input("mask", "float", ["maskRows", 1, "T", "T"]);
  const table = (name: string) => graph.input(name, "float", [shape.maxPositions, shape.headSize / 2]);
  const cosine = table("cosine");
  const sine = table("sine");
  const negativeSine = tape.differentiate ? table("negativeSine") : sine;
  const batchAndLength = graph.apply("Shape", [positions]);
  const withHeads = (...sizes: number[]) => graph.apply("Concat", [batchAndLength, graph.integers(...sizes)], { axis: 0 });
  return {
    rotary: { positions, cosine, sine, negativeSine },
    mask,
    flatHeads: { query: withHeads(shape.heads * shape.headSize), keyValue: withHeads(shape.keyValueHeads * shape.headSize) },
    splitHeads: { query: withHeads(shape.heads, shape.headSize), keyValue: withHeads(shape.keyValueHeads, shape.headSize) },
  };
}

/**
 * x [B*T, hidden] through one layer. `parameter` gives the graph value of one of the layer's tensors by the end of its
 * Hugging Face name, e.g. `mlp.up_proj.weight`.
 */
export function decoderLayer(tape: Tape, shape: ModelShape, x: Value, parameter: (suffix: string) => Value, context: LayerContext): Value {
  const { heads, keyValueHeads, headSize, hiddenSize, rmsNormEps } = shape;
  const normalised = rmsNorm(tape, x, parameter("input_layernorm.weight"), hiddenSize, rmsNormEps);

  const project = (name: "q_proj" | "k_proj" | "v_proj"): Value => {
    const bias = shape.qkvBias ? { bias: parameter(`self_attn.${name}.bias`) } : undefined;
    const projected = linear(tape, normalised, parameter(`self_attn.${name}.weight`), bias);
    const count = name === "q_proj" ? heads : keyValueHeads;
    const kind = name === "q_proj" ? "query" : "keyValue";
    const flat = [-1, count * headSize];
    let split: Value;
    if (name === "v_proj") split = reshape(tape, projected, context.splitHeads[kind], flat);
    else {
      const turned = rotary(tape, reshape(tape, projected, context.flatHeads[kind], flat), count, context.rotary);
      split = reshape(tape, turned, [0, 0, count, headSize], [0, 0, count * headSize]);
    }
    return transpose(tape, split, [0, 2, 1, 3]);
  };

  const query = reshape(tape, project("q_proj"), [0, keyValueHeads, -1, headSize], [0, heads, -1, headSize]);
  const attended = attention(tape, query, project("k_proj"), project("v_proj"), context.mask, {
    heads,
    keyValueHeads,
    scale: 1 / Math.sqrt(headSize),
  });
  const perHead = reshape(tape, attended, [0, heads, -1, headSize], [0, keyValueHeads, -1, headSize]);
  const merged = reshape(tape, transpose(tape, perHead, [0, 2, 1, 3]), [-1, heads * headSize], context.splitHeads.query);
  const afterAttention = linear(tape, merged, parameter("self_attn.o_proj.weight"), { residual: x });

  const inner = rmsNorm(tape, afterAttention, parameter("post_attention_layernorm.weight"), hiddenSize, rmsNormEps);
  const gate = linear(tape, inner, parameter("mlp.gate_proj.weight"));
  const up = linear(tape, inner, parameter("mlp.up_proj.weight"));
  return linear(tape, swiglu(tape, gate, up), parameter("mlp.down_proj.weight"), { residual: afterAttention });
}
