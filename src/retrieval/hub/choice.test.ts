import { describe, expect, it } from "vitest";
import { defaultFiles } from "./default-files.ts";
import { globMatcher } from "./glob.ts";
import { repositoryOf } from "./repository.ts";
import { hubSettings } from "./settings.ts";

const model = repositoryOf("model", "lab/model");
const chosen = (paths: readonly string[], architectures?: readonly string[]) =>
  defaultFiles(
    model,
    paths.map((path) => ({ path, size: 1, hash: "" })),
    architectures,
  ).files.map(({ path }) => path);

describe("default files", () => {
  it("takes safetensors, all shards, of a language model, although it has a graph", () => {
    const weights = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json"];
    const texts = ["config.json", "generation_config.json", "tokenizer.json", "merges.txt", "chat_template.jinja", "LICENSE"];
    const rest = [
      "onnx/model.onnx",
      "onnx/model_q4.onnx",
      "pytorch_model.bin",
      "original/params.json",
      "tf_model.h5",
      "runs/x/events.json",
    ];
    expect(chosen([...weights, ...texts, ...rest], ["LlamaForCausalLM"])).toEqual([...weights, ...texts]);
  });

  it("takes the graph with its data of an encoder, else safetensors, and both where it can't tell", () => {
    const graph = ["onnx/model.onnx", "onnx/model.onnx_data", "onnx/Constant_7_attr__value"];
    const all = [...graph, "model.onnx", "onnx/model_fp16.onnx", "model.safetensors", "modules.json"];
    expect(chosen(all, ["XLMRobertaModel"])).toEqual([...graph, "modules.json"]);
    expect(chosen(["modules.json", "model.safetensors", "2_Dense/model.safetensors"], ["Qwen3ForCausalLM"])).toHaveLength(3);
    expect(chosen(["model.onnx", "model.safetensors"])).toEqual(["model.onnx", "model.safetensors"]);
    expect(chosen(["model.onnx", "model.safetensors"], ["BertForSequenceClassification"])).toEqual(["model.onnx"]);
  });
});

describe("patterns", () => {
  it.each([
    ["*.json", true, ["a.json", "b/a.json"], ["a.jsonl"]],
    ["*.json", false, ["a.json"], ["b/a.json", "ajson"]],
    ["**/*.json", false, ["a.json", "b/c/a.json"], ["a.txt"]],
    ["data/", true, ["data/x", "data/y/z"], ["data", "other/data/x"]],
    ["part-[0-2]?.tsv", true, ["part-1a.tsv"], ["part-3a.tsv", "part-1.tsv"]],
    ["[!a]+(x).md", true, ["b+(x).md"], ["a+(x).md", "bb(x).md"]],
  ])("%s (across: %s)", (pattern, across, fits, others) => {
    const test = globMatcher(pattern, { across });
    expect(fits.filter((path) => !test(path))).toEqual([]);
    expect(others.filter((path) => test(path))).toEqual([]);
  });
});

it("refuses a pattern whose range runs backwards", () => {
  expect(() => globMatcher("part-[z-a].tsv", { across: true })).toThrow(/pattern "part-\[z-a\]\.tsv": correct the range/);
});

describe("settings", () => {
  it("finds the cache by the same variables as huggingface_hub", async () => {
    const cache = async (environment: NodeJS.ProcessEnv) => (await hubSettings(environment)).cache;
    expect(await cache({ HF_HUB_CACHE: "/c", HF_HOME: "/h" })).toBe("/c");
    expect(await cache({ HF_HOME: "/h" })).toBe("/h/hub");
    expect(await cache({ XDG_CACHE_HOME: "/x" })).toBe("/x/huggingface/hub");
    expect(await cache({})).toMatch(/\/\.cache\/huggingface\/hub$/);
  });

  it("refuses a token and an address that would show a secret when they fail", async () => {
    await expect(hubSettings({ HF_TOKEN: "hf_secret\nmore" })).rejects.toThrow(/^HF_TOKEN: the Hub's token holds white space/);
    await expect(hubSettings({ HF_ENDPOINT: "http://me:secret@host" })).rejects.toThrow(/^HF_ENDPOINT: leave user and password out/);
    await expect(hubSettings({ HF_ENDPOINT: "http://host/?a=b" })).rejects.toThrow(/^HF_ENDPOINT: leave \? and # out/);
  });

  it("is offline when told to in any of the usual words", async () => {
    const offline = async (environment: NodeJS.ProcessEnv) => (await hubSettings(environment)).offline;
    expect(await offline({ HF_HUB_OFFLINE: "true" })).toBe(true);
    expect(await offline({ TRANSFORMERS_OFFLINE: "1" })).toBe(true);
    expect(await offline({ HF_HUB_OFFLINE: "0" })).toBe(false);
  });
});
