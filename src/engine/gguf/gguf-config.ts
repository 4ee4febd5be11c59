import { ModelError } from "../../errors.ts";
import type { GgufFile } from "./gguf-file.ts";

/** Hugging Face `model_type` by the architecture that a GGUF file names. */
const modelTypes: Readonly<Record<string, string>> = { llama: "llama", qwen2: "qwen2", qwen3: "qwen3" };

/** The frequency divisors of Llama 3.x, which the file holds instead of the numbers they are made from. */
const ropeFactorsName = "rope_freqs.weight";
/** The same in every Llama 3.x so far; checked against the divisors. */
const llama3 = { low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 8192 };

/**
 * What the model's Hugging Face `config.json` would say, read from a GGUF file's metadata.
 * @throws ModelError naming the key that is missing or not supported.
 */
export async function ggufConfig(file: GgufFile): Promise<Record<string, unknown>> {
  const { metadata, path } = file;
  const architecture = metadata.get("general.architecture");
  const modelType = typeof architecture === "string" && Object.hasOwn(modelTypes, architecture) ? modelTypes[architecture] : undefined;
  if (modelType === undefined) {
    throw new ModelError(
      `${path}: general.architecture is ${JSON.stringify(architecture)}: supported are ${Object.keys(modelTypes).join(", ")}`,
    );
  }
  const optional = (key: string): number | undefined => {
    const value = metadata.get(`${architecture}.${key}`);
    if (value !== undefined && typeof value !== "number") {
      throw new ModelError(`${path}: ${architecture}.${key} is ${JSON.stringify(value)}: expected a number, the same for every layer`);
    }
    return value;
  };
  const required = (key: string): number => {
    const value = optional(key);
    if (value === undefined) throw new ModelError(`${path}: ${architecture}.${key} is missing`);
    return value;
  };
  const heads = required("attention.head_count");
  const hiddenSize = required("embedding_length");
  const headSize = optional("attention.key_length") ?? optional("rope.dimension_count") ?? hiddenSize / heads;
  const scalingType = metadata.get(`${architecture}.rope.scaling.type`);
  if (scalingType !== undefined && scalingType !== "none") {
    throw new ModelError(`${path}: ${architecture}.rope.scaling.type is ${JSON.stringify(scalingType)}: only none is supported`);
  }
  const theta = optional("rope.freq_base") ?? 10000;
  return {
    model_type: modelType,
    vocab_size: file.shapeOf("token_embd.weight")?.[0],
    hidden_size: hiddenSize,
    num_hidden_layers: required("block_count"),
    num_attention_heads: heads,
    num_key_value_heads: optional("attention.head_count_kv") ?? heads,
    head_dim: headSize,
    intermediate_size: required("feed_forward_length"),
    // Stored as float32: 9.999999747378752e-6 was written for 1e-5.
    rms_norm_eps: Number(required("attention.layer_norm_rms_epsilon").toPrecision(7)),
    rope_theta: Number(theta.toPrecision(7)),
    rope_scaling: await ropeScaling(file, theta, headSize),
    max_position_embeddings: required("context_length"),
    tie_word_embeddings: file.shapeOf("output.weight") === undefined,
    hidden_act: "silu",
    bos_token_id: metadata.get("tokenizer.ggml.bos_token_id"),
    eos_token_id: metadata.get("tokenizer.ggml.eos_token_id"),
    pad_token_id: metadata.get("tokenizer.ggml.padding_token_id"),
  };
}

async function ropeScaling(file: GgufFile, theta: number, headSize: number): Promise<Record<string, unknown> | undefined> {
  if (file.shapeOf(ropeFactorsName) === undefined) return undefined;
  const divisors = new Float32Array(headSize / 2);
  await file.readInto(ropeFactorsName, [divisors.length], divisors);
  const { low_freq_factor: low, high_freq_factor: high, original_max_position_embeddings: original } = llama3;
  /** How much of a pair's frequency stays as it is. */
  const shareOf = (pair: number): number => {
    const turns = (original * theta ** (-pair / divisors.length)) / (2 * Math.PI);
    return Math.min(1, Math.max(0, (turns - low) / (high - low)));
  };
  // The slowest pair is scaled most: it tells the factor.
  const slowest = divisors.length - 1;
  const factor = (1 - shareOf(slowest)) / (1 / (divisors[slowest] as number) - shareOf(slowest));
  const expected = divisors.map((_, pair) => 1 / (shareOf(pair) + (1 - shareOf(pair)) / factor));
  if (expected.some((divisor, pair) => Math.abs(divisor - (divisors[pair] as number)) > 1e-3 * divisor)) {
    throw new ModelError(`${file.path}: ${ropeFactorsName} does not hold the frequency divisors of Llama 3: this scaling is not supported`);
  }
  return { rope_type: "llama3", factor: Number(factor.toPrecision(5)), ...llama3 };
}
