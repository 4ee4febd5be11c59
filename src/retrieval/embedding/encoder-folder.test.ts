import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type EmbedderConfig, retrievalConfigSchema } from "../../config.ts";
import { readEncoderFolder } from "./encoder-folder.ts";

let root: string;
let count = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "cosearch-encoder-"));
});
afterAll(() => rm(root, { recursive: true }));

const config = (changes: Partial<EmbedderConfig> = {}): EmbedderConfig =>
  ({ ...retrievalConfigSchema.parse({}).retrieval.embedder, kind: "onnx", ...changes }) as EmbedderConfig;

/** A folder with these files; values are written as JSON. */
async function folderOf(files: Readonly<Record<string, unknown>>, name = `model-${count++}`): Promise<string> {
  const folder = join(root, name);
  await mkdir(folder, { recursive: true });
  for (const [file, value] of Object.entries(files)) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), typeof value === "string" ? value : JSON.stringify(value));
  }
  return folder;
}

const flat = { "model.onnx": "", "tokenizer.json": {} };
const module = (type: string, path: string) => ({ type: `sentence_transformers.models.${type}`, path });

describe("readEncoderFolder", () => {
  it("takes a flat folder: family by name, mean pooling, unit length, 512 tokens", async () => {
    const folder = await folderOf(flat, "e5-small");
    expect(await readEncoderFolder(folder, config({ model: folder }))).toEqual({
      model: "e5-small",
      graph: join(folder, "model.onnx"),
      tokenizer: join(folder, "tokenizer.json"),
      queryPrefix: "query: ",
      documentPrefix: "passage: ",
      pooling: "mean",
      poolingAsked: false,
      normalize: true,
      maxTokens: 512,
      lowerCase: false,
      otherModules: [],
    });
  });

  it("reads what sentence-transformers wrote", async () => {
    const folder = await folderOf({
      "onnx/model.onnx": "",
      "tokenizer.json": {},
      "tokenizer_config.json": { model_max_length: 512 },
      "config.json": { max_position_embeddings: 512, pad_token_id: 7, hidden_size: 99 },
      "config_sentence_transformers.json": { prompts: { query: "Q ", document: "D " } },
      "sentence_bert_config.json": { max_seq_length: 128, do_lower_case: true },
      "modules.json": [module("Transformer", ""), module("Pooling", "1_Pooling")],
      "1_Pooling/config.json": { word_embedding_dimension: 12, pooling_mode_cls_token: true, pooling_mode_mean_tokens: false },
    });
    expect(await readEncoderFolder(folder, config())).toMatchObject({
      graph: join(folder, "onnx", "model.onnx"),
      queryPrefix: "Q ",
      documentPrefix: "D ",
      pooling: "cls",
      normalize: false,
      maxTokens: 128,
      lowerCase: true,
      padTokenId: 7,
      width: 12,
    });
  });

  it("lets the configuration decide", async () => {
    const folder = await folderOf({ ...flat, "other.onnx": "", "1_Pooling/config.json": { pooling_mode_max_tokens: true } }, "bge-en");
    const asked = { queryPrefix: "", documentPrefix: "d", pooling: "last", normalize: false, maxTokens: 9, file: "other.onnx" } as const;
    const { file, ...settings } = asked;
    expect(await readEncoderFolder(folder, config(asked))).toMatchObject({ ...settings, poolingAsked: true, graph: join(folder, file) });
  });

  it.each([
    [{ pooling_mode: "lasttoken" }, "last"],
    [{ pooling_mode: ["mean"] }, "mean"],
    [{ pooling_mode_lasttoken: true }, "last"],
    [{}, "mean"],
  ])("reads the pooling of %j", async (settings, pooling) => {
    expect(await readEncoderFolder(await folderOf({ ...flat, "1_Pooling/config.json": settings }), config())).toMatchObject({ pooling });
  });

  it.each([
    [{ "modules.json": [module("Transformer", ""), module("Normalize", "2_Normalize")] }, true],
    [{ "modules.json": [module("Transformer", "")] }, false],
    [{ "modules.json": [module("Transformer", "")], "config_sentence_transformers.json": { similarity_fn_name: "cosine" } }, true],
    [{ "modules.json": [module("Transformer", "")], "config_sentence_transformers.json": { similarity_fn_name: "dot" } }, false],
  ])("reads the normalisation of %j", async (files, normalize) => {
    expect(await readEncoderFolder(await folderOf({ ...flat, ...files }), config())).toMatchObject({ normalize });
  });

  it.each([
    [{ "tokenizer_config.json": { model_max_length: 64 }, "config.json": { max_position_embeddings: 512 } }, 64],
    [{ "tokenizer_config.json": { model_max_length: 1e30 }, "config.json": { max_position_embeddings: 100 } }, 100],
    [{ "config.json": { max_position_embeddings: 514, model_type: "xlm-roberta" } }, 512],
    [{ "sentence_bert_config.json": { max_seq_length: 1024 }, "config.json": { max_position_embeddings: 100 } }, 100],
    [{ "sentence_bert_config.json": { max_seq_length: null }, "tokenizer_config.json": { model_max_length: 77 } }, 77],
  ])("reads the longest input of %j", async (files, maxTokens) => {
    expect(await readEncoderFolder(await folderOf({ ...flat, ...files }), config())).toMatchObject({ maxTokens });
  });

  it("names a model of the Hub's cache, and one asked for by name, without a path", async () => {
    const cached = await folderOf(flat, join("models--intfloat--e5-base-v2", "snapshots", "0123abcd"));
    expect(await readEncoderFolder(cached, config({ model: cached }))).toMatchObject({
      model: "intfloat/e5-base-v2",
      queryPrefix: "query: ",
    });
    await expect(readEncoderFolder(cached, config({ file: "onnx/model_q4.onnx" }))).rejects.toThrow(
      /name one in retrieval\.embedder\.file, or fetch it with {2}cosearch pull intfloat\/e5-base-v2 --files 'onnx\/model_q4\.onnx\*'/,
    );
    const elsewhere = await folderOf(flat);
    expect(await readEncoderFolder(elsewhere, config({ model: "BAAI/bge-m3" }))).toMatchObject({ model: "BAAI/bge-m3", pooling: "cls" });
  });

  it.each<[string, Readonly<Record<string, unknown>>, Partial<EmbedderConfig>, RegExp]>([
    [
      "no graph",
      { "tokenizer.json": {}, "model.safetensors": "" },
      {},
      /has no model\.onnx and no onnx\/model\.onnx; it has model\.safetensors, tokenizer\.json: export/,
    ],
    ["a graph of another name", { "onnx/model_q4.onnx": "" }, {}, /it has onnx\/model_q4\.onnx: name one in retrieval\.embedder\.file/],
    ["not the graph asked for", flat, { file: "big.onnx" }, /has no big\.onnx; it has model\.onnx: name one/],
    ["no tokenizer", { "model.onnx": "" }, {}, /has no tokenizer\.json: save it/],
    [
      "an unknown pooling",
      { ...flat, "1_Pooling/config.json": { pooling_mode_max_tokens: true } },
      {},
      /config\.json: pooling max is not supported \(mean, cls and lasttoken are\)/,
    ],
    ["two poolings", { ...flat, "1_Pooling/config.json": { pooling_mode: ["cls", "mean"] } }, {}, /pooling cls with mean is not supported/],
    ["prompts outside the pooling", { ...flat, "1_Pooling/config.json": { include_prompt: false } }, {}, /include_prompt false/],
    ["broken JSON", { ...flat, "config.json": "{" }, {}, /config\.json is not valid JSON/],
    ["broken modules", { ...flat, "modules.json": { a: 1 } }, {}, /modules\.json is no list of modules/],
    [
      "too long inputs",
      { ...flat, "config.json": { max_position_embeddings: 100 } },
      { maxTokens: 101 },
      /maxTokens: 101 is more than the 100 positions/,
    ],
  ])("refuses a folder with %s", async (_, files, changes, message) => {
    await expect(readEncoderFolder(await folderOf(files), config(changes))).rejects.toThrow(message);
  });

  it("refuses a folder that does not exist, and a file", async () => {
    await expect(readEncoderFolder(join(root, "none"), config())).rejects.toThrow(/none does not exist: name a model folder/);
    const graph = join(await folderOf(flat), "model.onnx");
    await expect(readEncoderFolder(graph, config())).rejects.toThrow(/model\.onnx is a file: name a model folder/);
  });
});
