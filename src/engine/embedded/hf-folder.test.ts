import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ModelError } from "../../errors.ts";
import { loadRenderer } from "../hf-renderer.ts";
import { hfConfigFromModelShape, type ModelShape } from "./architecture.ts";
import { checkWeights, loadModelFolder, readModelShape, writeModelFolder } from "./hf-folder.ts";
import { Parameters } from "./parameters.ts";
import { SafetensorsFile, writeSafetensors } from "./safetensors.ts";
import { TrainedModel } from "./trained-model.ts";

const shape: ModelShape = {
  architecture: "qwen2",
  vocabularySize: 20,
  hiddenSize: 8,
  layers: 2,
  heads: 4,
  keyValueHeads: 2,
  headSize: 2,
  intermediateSize: 12,
  rmsNormEps: 1e-6,
  ropeTheta: 10000,
  maxPositions: 32,
  qkvBias: true,
  queryKeyNorm: false,
  tiedHead: false,
};

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "model-"));
});
afterEach(() => rm(folder, { recursive: true }));

function makeParameters(): Parameters {
  const parameters = new Parameters(shape, { trainable: false });
  parameters.initialise(7);
  return parameters;
}

/** A safetensors file with any header, valid or not. */
async function writeRaw(path: string, header: unknown, data: Uint8Array): Promise<void> {
  const json = Buffer.from(typeof header === "string" ? header : JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  await writeFile(path, Buffer.concat([length, json, data]));
}

const fixtures = fileURLToPath(new URL("../../../test/fixtures/engine/", import.meta.url));

describe("a GGUF file", () => {
  it("gives the weights of the Hugging Face folder it was made from", async () => {
    const fromGguf = await loadModelFolder(`${fixtures}gguf/tiny-llama3.gguf`);
    const fromFolder = await loadModelFolder(`${fixtures}tiny-llama3`);
    expect(fromGguf.specs).toEqual(fromFolder.specs);
    for (const { name } of fromFolder.specs) expect(fromGguf.view(name), name).toEqual(fromFolder.view(name));
  });

  it("is exported as a folder that loads again, tokenizer and template included", async () => {
    const source = `${fixtures}gguf/tiny-llama3.gguf`;
    const parameters = await loadModelFolder(source);
    await writeModelFolder(folder, new TrainedModel(parameters), { source });
    expect(await readModelShape(folder)).toEqual(await readModelShape(source));
    expect((await loadModelFolder(folder)).view("model.norm.weight")).toEqual(parameters.view("model.norm.weight"));
    const [ours, theirs] = [await loadRenderer(folder), await loadRenderer(source)];
    const conversation = [{ role: "user" as const, content: ["abc"] }];
    expect(ours.encodeMarkup("a<s>b!")).toEqual(theirs.encodeMarkup("a<s>b!"));
    expect(ours.stopTokenIds).toEqual(theirs.stopTokenIds);
    expect(ours.renderConversation(conversation)).toEqual(theirs.renderConversation(conversation));
  });
});

describe("model folders", () => {
  it("are read from several files as from one", async () => {
    const parameters = makeParameters();
    await writeModelFolder(folder, new TrainedModel(parameters));
    await rm(join(folder, "model.safetensors"));
    const tensors = parameters.specs.map(({ name, shape }) => ({ name, shape, data: () => parameters.view(name) }));
    const shards = { "model-00001-of-00002.safetensors": tensors.slice(0, 5), "model-00002-of-00002.safetensors": tensors.slice(5) };
    const weight_map: Record<string, string> = {};
    for (const [file, part] of Object.entries(shards)) {
      await writeSafetensors(join(folder, file), part);
      for (const { name } of part) weight_map[name] = file;
    }
    const index = join(folder, "model.safetensors.index.json");
    await writeFile(index, JSON.stringify({ metadata: {}, weight_map }));
    expect((await loadModelFolder(folder)).weights).toEqual(parameters.weights);

    await writeFile(index, JSON.stringify({ weight_map: { ...weight_map, "model.norm.weight": "../elsewhere.safetensors" } }));
    await expect(loadModelFolder(folder)).rejects.toThrow('tensor model.norm.weight is said to be in "../elsewhere.safetensors"');
    await writeFile(index, JSON.stringify({ weight_map: { ...weight_map, "model.norm.weight": "model-00001-of-00002.safetensors" } }));
    await expect(loadModelFolder(folder)).rejects.toThrow(/model-00001-of-00002.safetensors: tensor model.norm.weight is missing/);
    await writeFile(index, JSON.stringify({ weight_map }));
    await rm(join(folder, "model-00002-of-00002.safetensors"));
    await expect(loadModelFolder(folder)).rejects.toThrow(/model-00002-of-00002.safetensors is missing: .*index.json says/);
    await expect(checkWeights(folder)).rejects.toThrow(/model-00002-of-00002.safetensors is missing/);
  });

  it("give back what was written, companions included", async () => {
    const parameters = makeParameters();
    const source = join(folder, "source");
    const target = join(folder, "target");
    await writeModelFolder(source, new TrainedModel(parameters));
    await writeFile(join(source, "config.json"), JSON.stringify(hfConfigFromModelShape(shape, { eos_token_id: 3 })));
    await writeFile(join(source, "tokenizer.json"), "{}");
    await writeFile(join(source, "generation_config.json"), '{"eos_token_id": 3}');
    await writeModelFolder(target, new TrainedModel(await loadModelFolder(source)), { source, endTokenIds: [9] });
    await writeModelFolder(target, new TrainedModel(await loadModelFolder(source)), { source, endTokenIds: [9] });
    expect(await readModelShape(target)).toEqual(shape);
    expect((await loadModelFolder(target)).weights).toEqual(parameters.weights);
    expect(JSON.parse(await readFile(join(target, "config.json"), "utf8"))).toMatchObject({ eos_token_id: 3, model_type: "qwen2" });
    expect(JSON.parse(await readFile(join(target, "generation_config.json"), "utf8"))).toEqual({ eos_token_id: 3 });
    expect((await readdir(target)).sort()).toEqual(["config.json", "generation_config.json", "model.safetensors", "tokenizer.json"]);
    expect((await readdir(folder)).sort()).toEqual(["source", "target"]);
  });

  it("keep the old version when the new one can't be written", async () => {
    const target = join(folder, "model");
    await writeModelFolder(target, new TrainedModel(makeParameters()));
    // A companion that can't be copied stands for a disk that fills up half way.
    const source = join(folder, "source");
    await writeModelFolder(source, new TrainedModel(makeParameters()));
    await rm(join(source, "tokenizer.json"), { force: true });
    await writeModelFolder(join(source, "tokenizer.json"), new TrainedModel(makeParameters()));
    await expect(writeModelFolder(target, new TrainedModel(makeParameters()), { source })).rejects.toThrow(/model can't be written/);
    expect((await readdir(folder)).sort()).toEqual(["model", "source"]);
    expect((await loadModelFolder(target)).weights).toEqual(makeParameters().weights);
  });

  it("name what is wrong with the weights", async () => {
    const target = join(folder, "model");
    const file = join(target, "model.safetensors");
    await writeModelFolder(target, new TrainedModel(makeParameters()));
    const size = (await readFile(file)).length;

    await truncate(file, size - 4);
    await expect(loadModelFolder(target)).rejects.toThrow(ModelError);
    await expect(loadModelFolder(target)).rejects.toThrow(`tensor lm_head.weight ends at byte ${size}, the file has ${size - 4} bytes`);

    const tensors = makeParameters().specs.map((spec) => ({
      name: spec.name,
      shape: spec.shape,
      data: () => makeParameters().view(spec.name),
    }));
    await writeSafetensors(file, tensors.slice(1));
    await expect(loadModelFolder(target)).rejects.toThrow(/tensor model.embed_tokens.weight is missing/);

    await writeSafetensors(file, [...tensors, { name: "extra", shape: [1], data: () => new Float32Array(1) }]);
    await expect(loadModelFolder(target)).rejects.toThrow(/tensor extra does not belong to a qwen2 model/);

    await writeSafetensors(file, [{ ...tensors[0]!, shape: [8, 20] }, ...tensors.slice(1)]);
    await expect(loadModelFolder(target)).rejects.toThrow(/model.embed_tokens.weight has shape \[8, 20\], expected \[20, 8\]/);

    const damaged = makeParameters().view("model.norm.weight");
    damaged[5] = Number.NaN;
    await writeSafetensors(
      file,
      tensors.map((tensor) => (tensor.name === "model.norm.weight" ? { ...tensor, data: () => damaged } : tensor)),
    );
    await expect(loadModelFolder(target)).rejects.toThrow(/model.norm.weight holds NaN at index 5/);
    await expect(checkWeights(target)).rejects.toThrow(/model.norm.weight holds NaN at index 5/);
    await writeSafetensors(file, tensors);
    expect(await checkWeights(target)).toBe(tensors.reduce((sum, { data }) => sum + data().length, 0));

    await rm(file);
    await expect(loadModelFolder(target)).rejects.toThrow(/model.safetensors can't be opened/);
    await expect(loadModelFolder(folder)).rejects.toThrow(/config.json is missing/);
  });
});

describe("safetensors", () => {
  it("reads F16 and BF16 as float32", async () => {
    const path = join(folder, "a.safetensors");
    const halves = new Uint16Array([0x3c00, 0xc000, 0x0001, 0x7bff, 0x3f80, 0xc000]);
    await writeRaw(
      path,
      { half: { dtype: "F16", shape: [2, 2], data_offsets: [0, 8] }, brain: { dtype: "BF16", shape: [2], data_offsets: [8, 12] } },
      new Uint8Array(halves.buffer),
    );
    const file = await SafetensorsFile.open(path);
    const half = new Float32Array(4);
    const brain = new Float32Array(2);
    await file.readInto("half", [2, 2], half);
    await file.readInto("brain", [2], brain);
    await file.close();
    expect([...half]).toEqual([1, -2, 2 ** -24, 65504]);
    expect([...brain]).toEqual([1, -2]);
  });

  it.each([
    ["no header", "", /header length is truncated: 0 of 8 bytes/],
    ["an absurd header length", "\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff", /not a safetensors file, or truncated/],
  ])("refuses a file with %s", async (_, content, message) => {
    const path = join(folder, "a.safetensors");
    await writeFile(path, Buffer.from(content, "latin1"));
    await expect(SafetensorsFile.open(path)).rejects.toThrow(message);
  });

  it.each([
    ["a header that is not JSON", "{a", /header is not JSON/],
    [
      "an unknown dtype",
      { x: { dtype: "I64", shape: [1], data_offsets: [0, 8] } },
      /tensor x has dtype "I64", supported are F32, F16, BF16/,
    ],
    [
      "offsets that don't fit the shape",
      { x: { dtype: "F32", shape: [3], data_offsets: [0, 8] } },
      /shape \[3\] needs 12 bytes, its data_offsets span 8/,
    ],
    ["no offsets", { x: { dtype: "F32", shape: [3] } }, /tensor x has no valid shape and data_offsets/],
    ["offsets beyond its end", { x: { dtype: "F32", shape: [2], data_offsets: [8, 16] } }, /is truncated: tensor x ends at byte/],
  ])("refuses %s", async (_, header, message) => {
    const path = join(folder, "a.safetensors");
    await writeRaw(path, header, new Uint8Array(8));
    await expect(SafetensorsFile.open(path)).rejects.toThrow(message);
  });
});
