import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { retrievalConfigSchema } from "../../config.ts";
import { GraphBuilder } from "../../onnx/onnx-model.ts";
import { Encoder } from "./encoder.ts";
import { prefixed } from "./encoder-families.ts";
import { type EncoderSettings, readEncoderFolder } from "./encoder-folder.ts";
import { EncoderTokenizer } from "./encoder-tokenizer.ts";

const folder = fileURLToPath(new URL("../../../test/fixtures/retrieval/encoder/", import.meta.url));
const goldens = JSON.parse(readFileSync(join(folder, "goldens.json"), "utf8")) as Readonly<Record<string, number[][]>> & {
  readonly texts: string[];
  /** Of queries and of documents. */
  readonly truncated: number[];
};
const { texts } = goldens;

let scratch: string;
let settings: EncoderSettings;
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "cosearch-encoder-"));
  settings = await readEncoderFolder(folder, retrievalConfigSchema.parse({}).retrieval.embedder);
});
afterAll(() => rm(scratch, { recursive: true }));

const resources = { threads: 1, batchTokens: 64 };
const never = () => false;

/** Largest difference between our vectors and the reference's. */
function worst(vectors: Float32Array, expected: readonly number[][] | undefined): number {
  return Math.max(...(expected ?? [[Number.NaN]]).flat().map((value, index) => Math.abs(value - (vectors[index] as number))));
}

describe("an encoder against sentence-transformers", () => {
  it("gives the same token ids: accents, CJK, emoji, odd spaces, spelled-out special tokens, cut texts", async () => {
    const tokenizer = await EncoderTokenizer.open(settings.tokenizer, settings.tokenizerConfig);
    const encoded = texts.map((text) => tokenizer.encode(text, settings.maxTokens));
    expect(encoded.map(({ ids }) => ids)).toEqual(goldens["tokenIds"]);
    expect(encoded.map(({ truncated }) => truncated)).toEqual(
      texts.map((text) => text.startsWith("The river") || text.startsWith("ÉCOLE")),
    );
  });

  it("gives the same vectors of queries and documents, in batches of every size", async () => {
    expect(settings).toMatchObject({
      pooling: "mean",
      normalize: true,
      maxTokens: 24,
      queryPrefix: "query: ",
      documentPrefix: "passage: ",
    });
    for (const batchTokens of [16, 64, 4096]) {
      const encoder = await Encoder.open(settings, { threads: 1, batchTokens });
      const queries = await encoder.encode(
        texts.map((text) => prefixed("query: ", text)),
        never,
      );
      const documents = await encoder.encode(
        texts.map((text) => prefixed("passage: ", text)),
        never,
      );
      expect(worst(queries.vectors, goldens["queries"])).toBeLessThan(2e-6);
      expect(worst(documents.vectors, goldens["documents"])).toBeLessThan(2e-6);
      expect([queries.truncated, documents.truncated]).toEqual(goldens.truncated);
    }
  });

  it.each([
    ["cls", "cls"],
    ["last", "lasttoken"],
  ] as const)("gives the same vectors with %s pooling, not normalised", async (pooling, key) => {
    const encoder = await Encoder.open({ ...settings, pooling, normalize: false }, resources);
    const { vectors } = await encoder.encode(
      texts.map((text) => prefixed("passage: ", text)),
      never,
    );
    expect(worst(vectors, goldens[key])).toBeLessThan(2e-5);
  });

  it("gives the same bits in every call", async () => {
    const encoder = await Encoder.open(settings, resources);
    expect(await encoder.encode(texts, never)).toEqual(await encoder.encode(texts, never));
  });
});

/** A graph whose token vectors are (id, 2 id, 3 id), divided by `divisor`; pooled: their sums over all tokens. */
async function graphFile(
  name: string,
  {
    divisor = 1,
    inputs = ["input_ids"],
    output = "last_hidden_state",
    pooled = false,
  }: { divisor?: number; inputs?: readonly string[]; output?: string; pooled?: boolean },
): Promise<string> {
  const graph = new GraphBuilder();
  for (const input of inputs) graph.input(input, "int64", ["batch", "length"]);
  const ids = graph.apply("Unsqueeze", [graph.apply("Cast", [inputs[0] as string], { to: 1 }), graph.integers(2)]);
  const scaled = graph.apply("Div", [ids, graph.scalar(divisor)]);
  const tokens = graph.apply("Mul", [scaled, graph.constant("float", [1, 1, 3], [1, 2, 3])]);
  graph.node(pooled ? "ReduceSum" : "Identity", pooled ? [tokens, graph.integers(1)] : [tokens], [output], pooled ? { keepdims: 0 } : {});
  graph.output(output, "float", pooled ? ["batch", 3] : ["batch", "length", 3]);
  const file = join(scratch, name);
  await writeFile(file, graph.build());
  return file;
}

describe("an encoder's graph", () => {
  const plain = { normalize: false, width: undefined };

  it("may need fewer inputs than others and have an output of any name", async () => {
    const graph = await graphFile("plain.onnx", { output: "out" });
    const encoder = await Encoder.open({ ...settings, ...plain, graph, pooling: "cls" }, resources);
    const { vectors } = await encoder.encode(["x"], never);
    expect(encoder.dimensions).toBe(3);
    const start = goldens["tokenIds"]?.[0]?.[0] as number;
    expect([...vectors]).toEqual([start, 2 * start, 3 * start]);
  });

  it("pools itself where it has sentence vectors, modules behind the pooling included", async () => {
    const graph = await graphFile("pooled.onnx", { output: "sentence_embedding", pooled: true });
    const encoder = await Encoder.open({ ...settings, ...plain, graph, otherModules: ["Dense"] }, resources);
    expect(encoder.pooled).toBe(true);
    const ids = goldens["tokenIds"]?.[6] as number[];
    const sum = ids.reduce((total, id) => total + id, 0);
    expect([...(await encoder.encode([texts[6] as string], never)).vectors]).toEqual([sum, 2 * sum, 3 * sum]);
    await expect(Encoder.open({ ...settings, ...plain, graph, poolingAsked: true }, resources)).rejects.toThrow(
      /pooled\.onnx pools by itself/,
    );
  });

  it("is refused when it can't embed texts, saying why", async () => {
    const open = async (name: string, shape: Parameters<typeof graphFile>[1], changes: Partial<EncoderSettings> = {}) =>
      Encoder.open({ ...settings, ...plain, graph: await graphFile(name, shape), ...changes }, resources);
    await expect(open("a.onnx", { inputs: ["input_ids", "pixel_values"] })).rejects.toThrow(
      /a\.onnx is no text encoder: its inputs are input_ids, pixel_values/,
    );
    await expect(open("b.onnx", { inputs: ["attention_mask"] })).rejects.toThrow(/is no text encoder: its inputs are attention_mask/);
    await expect(open("c.onnx", {}, { width: 16 })).rejects.toThrow(/gives vectors of 3 dimensions, the folder's files say 16/);
    await expect(open("d.onnx", {}, { otherModules: ["Dense"] })).rejects.toThrow(/modules\.json puts Dense behind the pooling/);
    await expect(open("e.onnx", {}, { maxTokens: 2 })).rejects.toThrow(/maxTokens: 2 leaves no room beside the 2 special tokens/);
    await writeFile(join(scratch, "f.onnx"), "no graph");
    await expect(Encoder.open({ ...settings, graph: join(scratch, "f.onnx") }, resources)).rejects.toThrow(/f\.onnx can't be loaded/);
  });

  it("is refused at the first value that is no number, quoting the text", async () => {
    const encoder = await Encoder.open(
      { ...settings, ...plain, graph: await graphFile("nan.onnx", { divisor: 0 }), pooling: "cls" },
      resources,
    );
    await expect(encoder.encode(["a text"], never)).rejects.toThrow(/nan\.onnx gives values that are no numbers for "a text"/);
  });

  it("stops between two passes", async () => {
    const encoder = await Encoder.open(settings, resources);
    let asked = 0;
    await expect(encoder.encode(texts, () => ++asked === 3)).rejects.toThrow(expect.objectContaining({ name: "AbortError" }));
    expect(asked).toBe(3);
  });
});
