/** Which decoder models the engine runs, how their `config.json` is read and written, and which tensors they have. */
import { ModelError } from "../../errors.ts";
import { isRecord } from "../../json-values.ts";

/** Architectures by their `model_type` in config.json. */
export const supportedArchitectures = ["llama", "mistral", "qwen2", "qwen3"] as const;
/** `model_type` of a supported model. */
export type Architecture = (typeof supportedArchitectures)[number];

/** Llama 3.x: low frequencies are slowed down by `factor`, so that positions beyond the original ones stay apart. */
export interface RopeScaling {
  readonly factor: number;
  readonly lowFrequencyFactor: number;
  readonly highFrequencyFactor: number;
  readonly originalMaxPositions: number;
}

/** All that the graphs need to know of a model. */
export interface ModelShape {
  readonly architecture: Architecture;
  readonly vocabularySize: number;
  readonly hiddenSize: number;
  readonly layers: number;
  readonly heads: number;
  /** Fewer than `heads`: grouped-query attention. Divides `heads`. */
  readonly keyValueHeads: number;
  readonly headSize: number;
  readonly intermediateSize: number;
  readonly rmsNormEps: number;
  readonly ropeTheta: number;
  /** Absent: none. */
  readonly ropeScaling?: RopeScaling;
  readonly maxPositions: number;
  /** Whether the query, key and value projections have a bias (Qwen2). */
  readonly qkvBias: boolean;
  /** Whether every head's queries and keys are normalised before they are turned (Qwen3). */
  readonly queryKeyNorm: boolean;
  /** Whether the output head is the embedding matrix. */
  readonly tiedHead: boolean;
}

/** What a tensor is for: it decides about random initialisation and weight decay. */
export type ParameterKind = "embedding" | "norm" | "bias" | "linear";

/** One tensor of a model under its Hugging Face name; linear weights are [out, in]. */
export interface ParameterSpec {
  readonly name: string;
  readonly shape: readonly number[];
  readonly kind: ParameterKind;
}

/** Reads the fields of one config.json; every error names the file, the field and its value. */
class ConfigReader {
  constructor(
    private readonly json: Record<string, unknown>,
    private readonly file: string,
  ) {}

  problem(field: string, expected: string): ModelError {
    return new ModelError(`${this.file}: ${field} is ${JSON.stringify(this.json[field])}: ${expected}`);
  }

  integer(field: string, fallback?: number): number {
    const value = this.json[field] ?? fallback;
    if (typeof value !== "number" || !Number.isInteger(value) || value < 1) throw this.problem(field, "expected a positive integer");
    return value;
  }

  positive(field: string, fallback: number): number {
    const value = this.json[field] ?? fallback;
    if (typeof value !== "number" || !(value > 0) || !Number.isFinite(value)) throw this.problem(field, "expected a positive number");
    return value;
  }

  boolean(field: string, fallback: boolean): boolean {
    const value = this.json[field] ?? fallback;
    if (typeof value !== "boolean") throw this.problem(field, "expected true or false");
    return value;
  }

  /** RoPE as transformers 4 (`rope_theta`, `rope_scaling`) or 5 (`rope_parameters`) writes it; other variants are refused. */
  rope(): { readonly theta: number; readonly scaling?: RopeScaling } {
    let theta: number | undefined;
    let scaling: RopeScaling | undefined;
    for (const field of ["rope_scaling", "rope_parameters"]) {
      const value = this.json[field];
      if (value === undefined || value === null) continue;
      if (!isRecord(value)) throw this.problem(field, "expected an object");
      const type = value["rope_type"] ?? value["type"] ?? "default";
      const number = (name: string): number => {
        const found = value[name];
        if (typeof found !== "number" || !(found > 0)) throw this.problem(field, `expected a positive ${name}`);
        return found;
      };
      if (type === "llama3") {
        scaling = {
          factor: number("factor"),
          lowFrequencyFactor: number("low_freq_factor"),
          highFrequencyFactor: number("high_freq_factor"),
          originalMaxPositions: number("original_max_position_embeddings"),
        };
        if (scaling.highFrequencyFactor <= scaling.lowFrequencyFactor)
          throw this.problem(field, "high_freq_factor must exceed low_freq_factor");
      } else if (type !== "default") throw this.problem(field, 'supported rope types are "default" and "llama3"');
      if (value["rope_theta"] !== undefined) theta = number("rope_theta");
    }
    return { theta: theta ?? this.positive("rope_theta", 10000), ...(scaling ? { scaling } : {}) };
  }

  /** Positions that full attention and the model's sliding window (Mistral) have in common: beyond them the graphs would differ. */
  maxPositions(): number {
    const positions = this.integer("max_position_embeddings", 2048);
    const window = this.json["sliding_window"];
    const slides = this.json["model_type"] === "mistral" || this.json["use_sliding_window"] === true;
    return slides && typeof window === "number" && window > 0 ? Math.min(positions, window) : positions;
  }
}

/**
 * The shape described by a Hugging Face `config.json` (already parsed); `file` is named in errors.
 * @throws ModelError for architectures and variants that the engine does not run, and for missing or wrong fields.
 */
export function modelShapeFromHfConfig(json: unknown, file: string): ModelShape {
  if (!isRecord(json)) throw new ModelError(`${file}: expected a JSON object`);
  const reader = new ConfigReader(json, file);
  const architecture = supportedArchitectures.find((name) => name === json["model_type"]);
  if (architecture === undefined) throw reader.problem("model_type", `supported are ${supportedArchitectures.join(", ")}`);
  const activation = json["hidden_act"] ?? "silu";
  if (activation !== "silu") throw reader.problem("hidden_act", 'only "silu" is supported');
  for (const field of ["attention_bias", "mlp_bias"]) {
    if (reader.boolean(field, false)) throw reader.problem(field, "only false is supported");
  }
  const hiddenSize = reader.integer("hidden_size");
  const heads = reader.integer("num_attention_heads");
  const keyValueHeads = reader.integer("num_key_value_heads", heads);
  if (heads % keyValueHeads !== 0) throw reader.problem("num_key_value_heads", `must divide num_attention_heads (${heads})`);
  if (json["head_dim"] === undefined && hiddenSize % heads !== 0)
    throw reader.problem("hidden_size", `must be a multiple of num_attention_heads (${heads})`);
  const headSize = reader.integer("head_dim", hiddenSize / heads);
  if (headSize % 2 !== 0) throw reader.problem("head_dim", "must be even (rotary embedding)");
  const { theta, scaling } = reader.rope();
  return {
    architecture,
    vocabularySize: reader.integer("vocab_size"),
    hiddenSize,
    layers: reader.integer("num_hidden_layers"),
    heads,
    keyValueHeads,
    headSize,
    intermediateSize: reader.integer("intermediate_size"),
    rmsNormEps: reader.positive("rms_norm_eps", 1e-6),
    ropeTheta: theta,
    ...(scaling ? { ropeScaling: scaling } : {}),
    maxPositions: reader.maxPositions(),
    qkvBias: architecture === "qwen2",
    queryKeyNorm: architecture === "qwen3",
    tiedHead: reader.boolean("tie_word_embeddings", false),
  };
}

const classNames: Readonly<Record<Architecture, string>> = {
  llama: "LlamaForCausalLM",
  mistral: "MistralForCausalLM",
  qwen2: "Qwen2ForCausalLM",
  qwen3: "Qwen3ForCausalLM",
};

/** A `config.json` that transformers 4 and 5 read; `extra` adds fields such as `eos_token_id`. */
export function hfConfigFromModelShape(shape: ModelShape, extra: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const scaling = shape.ropeScaling;
  return {
    architectures: [classNames[shape.architecture]],
    model_type: shape.architecture,
    vocab_size: shape.vocabularySize,
    hidden_size: shape.hiddenSize,
    num_hidden_layers: shape.layers,
    num_attention_heads: shape.heads,
    num_key_value_heads: shape.keyValueHeads,
    head_dim: shape.headSize,
    intermediate_size: shape.intermediateSize,
    hidden_act: "silu",
    rms_norm_eps: shape.rmsNormEps,
    rope_theta: shape.ropeTheta,
    ...(scaling
      ? {
          rope_scaling: {
            rope_type: "llama3",
            factor: scaling.factor,
            low_freq_factor: scaling.lowFrequencyFactor,
            high_freq_factor: scaling.highFrequencyFactor,
            original_max_position_embeddings: scaling.originalMaxPositions,
          },
        }
      : {}),
    max_position_embeddings: shape.maxPositions,
    tie_word_embeddings: shape.tiedHead,
    torch_dtype: "float32",
    ...extra,
  };
}

/** Names of one layer's tensors, in storage order: what one matrix product can take together is adjacent. */
function layerSpecs(shape: ModelShape, layer: number): ParameterSpec[] {
  const { hiddenSize, intermediateSize, headSize } = shape;
  const queries = shape.heads * headSize;
  const keys = shape.keyValueHeads * headSize;
  const spec = (name: string, kind: ParameterKind, ...size: number[]): ParameterSpec => ({
    name: `model.layers.${layer}.${name}`,
    shape: size,
    kind,
  });
  return [
    spec("input_layernorm.weight", "norm", hiddenSize),
    spec("self_attn.q_proj.weight", "linear", queries, hiddenSize),
    spec("self_attn.k_proj.weight", "linear", keys, hiddenSize),
    spec("self_attn.v_proj.weight", "linear", keys, hiddenSize),
    ...(shape.qkvBias
      ? [
          spec("self_attn.q_proj.bias", "bias", queries),
          spec("self_attn.k_proj.bias", "bias", keys),
          spec("self_attn.v_proj.bias", "bias", keys),
        ]
      : []),
    ...(shape.queryKeyNorm ? [spec("self_attn.q_norm.weight", "norm", headSize), spec("self_attn.k_norm.weight", "norm", headSize)] : []),
    spec("self_attn.o_proj.weight", "linear", hiddenSize, queries),
    spec("post_attention_layernorm.weight", "norm", hiddenSize),
    spec("mlp.gate_proj.weight", "linear", intermediateSize, hiddenSize),
    spec("mlp.up_proj.weight", "linear", intermediateSize, hiddenSize),
    spec("mlp.down_proj.weight", "linear", hiddenSize, intermediateSize),
  ];
}

/** Every tensor of the model, in storage order. A tied head has no tensor of its own. */
export function parameterSpecs(shape: ModelShape): ParameterSpec[] {
  const matrix = [shape.vocabularySize, shape.hiddenSize];
  return [
    { name: "model.embed_tokens.weight", shape: matrix, kind: "embedding" },
    ...Array.from({ length: shape.layers }, (_, layer) => layerSpecs(shape, layer)).flat(),
    { name: "model.norm.weight", shape: [shape.hiddenSize], kind: "norm" },
    ...(shape.tiedHead ? [] : [{ name: "lm_head.weight", shape: matrix, kind: "linear" } as const]),
  ];
}

/** How many numbers the model has. */
export function parameterCount(shape: ModelShape): number {
  return parameterSpecs(shape).reduce((sum, spec) => sum + elementCount(spec.shape), 0);
}

/** The product of a shape's sizes. */
export function elementCount(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}
