import { describe, expect, it } from "vitest";
import { hfConfigFromModelShape, modelShapeFromHfConfig, parameterCount, parameterSpecs } from "./architecture.ts";
import { Parameters } from "./parameters.ts";

const config = {
  model_type: "qwen2",
  vocab_size: 50,
  hidden_size: 32,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  intermediate_size: 48,
  rms_norm_eps: 1e-6,
  rope_theta: 1000000,
  max_position_embeddings: 64,
  tie_word_embeddings: true,
};

describe("modelShapeFromHfConfig", () => {
  it("reads a Qwen2 configuration", () => {
    expect(modelShapeFromHfConfig(config, "config.json")).toEqual({
      architecture: "qwen2",
      vocabularySize: 50,
      hiddenSize: 32,
      layers: 2,
      heads: 4,
      keyValueHeads: 2,
      headSize: 8,
      intermediateSize: 48,
      rmsNormEps: 1e-6,
      ropeTheta: 1000000,
      maxPositions: 64,
      qkvBias: true,
      queryKeyNorm: false,
      tiedHead: true,
    });
  });

  it("reads the RoPE base where transformers 5 writes it", () => {
    const { rope_theta, ...rest } = config;
    const shape = modelShapeFromHfConfig({ ...rest, rope_parameters: { rope_type: "default", rope_theta } }, "config.json");
    expect(shape.ropeTheta).toBe(1000000);
  });

  it("reads back what it writes", () => {
    const shape = modelShapeFromHfConfig({ ...config, model_type: "llama", head_dim: 16, tie_word_embeddings: false }, "config.json");
    expect(modelShapeFromHfConfig(hfConfigFromModelShape(shape), "config.json")).toEqual(shape);
  });

  it.each([
    [{ model_type: "gpt2" }, 'dir/config.json: model_type is "gpt2": supported are llama, mistral, qwen2, qwen3'],
    [{ hidden_act: "gelu" }, 'hidden_act is "gelu"'],
    [{ num_key_value_heads: 3 }, "num_key_value_heads is 3: must divide num_attention_heads (4)"],
    [{ vocab_size: "many" }, 'vocab_size is "many": expected a positive integer'],
    [{ rope_scaling: { rope_type: "yarn", factor: 8 } }, 'supported rope types are "default" and "llama3"'],
    [{ rope_scaling: { rope_type: "llama3", factor: 8 } }, "expected a positive low_freq_factor"],
  ])("refuses %j", (change, message) => {
    expect(() => modelShapeFromHfConfig({ ...config, ...change }, "dir/config.json")).toThrow(message);
  });
});

describe("Parameters", () => {
  const shape = modelShapeFromHfConfig(config, "config.json");
  const parameters = new Parameters(shape);
  parameters.initialise(7);

  it("lays query, key and value next to each other, and gate and up", () => {
    const query = parameters.view("model.layers.1.self_attn.q_proj.weight");
    const key = parameters.view("model.layers.1.self_attn.k_proj.weight");
    const fused = parameters.feeds["layers.1.queryKeyValue"];
    expect(fused?.dims).toEqual([64, 32]);
    expect(fused?.data).toHaveProperty("byteOffset", query.byteOffset);
    expect(key.byteOffset).toBe(query.byteOffset + query.byteLength);
    expect(parameters.feeds["layers.0.gateUp"]?.dims).toEqual([96, 32]);
    expect(parameters.feeds["layers.0.queryKeyValueBias"]?.dims).toEqual([64]);
  });

  it("covers every tensor once", () => {
    const total = parameterSpecs(shape).reduce((sum, spec) => sum + parameters.view(spec.name).length, 0);
    expect(total).toBe(parameterCount(shape));
    expect(parameters.spans.reduce((sum, span) => sum + span.length, 0)).toBe(total);
  });

  it("initialises the same weights from the same seed", () => {
    const again = new Parameters(shape, { trainable: false });
    again.initialise(7);
    expect(again.weights).toEqual(parameters.weights);
    again.initialise(8);
    expect(again.weights).not.toEqual(parameters.weights);
    expect(again.gradients.length).toBe(0);
  });

  it("names a tensor that does not exist", () => {
    expect(() => parameters.view("lm_head.weight")).toThrow("the model has no tensor lm_head.weight");
  });
});
