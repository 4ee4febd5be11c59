/** The model's tensors as the graphs take them: query, key and value (and gate and up) weights are one matrix each. */
import { type ModelShape, type ParameterKind, parameterSpecs } from "./architecture.ts";

/** One parameter input of a graph: one or several adjacent tensors of the model, stacked along their first axis. */
export interface GraphParameter {
  /** `embedding`, `layers.N.<role>`, `finalNorm` or `head`. */
  readonly name: string;
  readonly shape: readonly number[];
  readonly kind: ParameterKind;
  /** Hugging Face names of the tensors, in storage order. */
  readonly members: readonly string[];
}

/** Roles of a layer's parameters by the end of their Hugging Face names. */
const layerRoles: Readonly<Record<string, string>> = {
  "input_layernorm.weight": "attentionNorm",
  "self_attn.q_proj.weight": "queryKeyValue",
  "self_attn.k_proj.weight": "queryKeyValue",
  "self_attn.v_proj.weight": "queryKeyValue",
  "self_attn.q_proj.bias": "queryKeyValueBias",
  "self_attn.k_proj.bias": "queryKeyValueBias",
  "self_attn.v_proj.bias": "queryKeyValueBias",
  "self_attn.q_norm.weight": "queryNorm",
  "self_attn.k_norm.weight": "keyNorm",
  "self_attn.o_proj.weight": "attentionOutput",
  "post_attention_layernorm.weight": "feedForwardNorm",
  "mlp.gate_proj.weight": "gateUp",
  "mlp.up_proj.weight": "gateUp",
  "mlp.down_proj.weight": "down",
};

function graphName(name: string): string {
  if (name === "model.embed_tokens.weight") return "embedding";
  if (name === "model.norm.weight") return "finalNorm";
  if (name === "lm_head.weight") return "head";
  const [, layer, rest] = /^model\.layers\.(\d+)\.(.+)$/.exec(name) ?? [];
  return `layers.${layer}.${layerRoles[rest ?? ""]}`;
}

/** Every graph parameter of the model, in storage order. */
export function graphParameters(shape: ModelShape): GraphParameter[] {
  const parameters: GraphParameter[] = [];
  for (const spec of parameterSpecs(shape)) {
    const name = graphName(spec.name);
    const last = parameters.at(-1);
    if (last?.name === name) {
      const rows = (last.shape[0] as number) + (spec.shape[0] as number);
      parameters[parameters.length - 1] = { ...last, shape: [rows, ...last.shape.slice(1)], members: [...last.members, spec.name] };
    } else {
      parameters.push({ name, shape: spec.shape, kind: spec.kind, members: [spec.name] });
    }
  }
  return parameters;
}
