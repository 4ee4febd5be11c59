import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ModelError } from "../../errors.ts";
import { ggufFormats } from "./gguf-blocks.ts";
import { ggufConfig } from "./gguf-config.ts";
import { GgufFile } from "./gguf-file.ts";
import { ggufTokenizer } from "./gguf-tokenizer.ts";

// Made once with llama.cpp's own package by bench/peers/make-gguf-goldens.py.
const fixtures = fileURLToPath(new URL("../../../test/fixtures/engine/gguf/", import.meta.url));
const tiny = `${fixtures}tiny-llama3.gguf`;
const cases = JSON.parse(await readFile(`${fixtures}blocks.json`, "utf8")) as readonly {
  readonly format: string;
  readonly type: number;
  readonly bytes: string;
  readonly numbers: readonly number[];
}[];

describe("ggufFormats", () => {
  it("has a golden case for every format", () => {
    expect(cases.map(({ type }) => type).sort()).toEqual([...ggufFormats.keys()].sort());
  });

  it.each(cases)("decodes $format as llama.cpp does", ({ format, type, bytes, numbers }) => {
    const known = ggufFormats.get(type);
    expect(known?.name).toBe(format);
    const target = new Float32Array(numbers.length);
    known?.decode(Buffer.from(bytes, "base64"), target);
    target.forEach((value, index) => {
      const expected = numbers[index] as number;
      expect(Math.abs(value - expected), `number ${index}`).toBeLessThanOrEqual(1e-6 * Math.max(1, Math.abs(expected)));
    });
  });
});

describe("a GGUF file", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "gguf-"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  /** The tiny model with some of its bytes changed. */
  async function changed(change: (bytes: Buffer) => Buffer): Promise<string> {
    const path = join(folder, "changed.gguf");
    await writeFile(path, change(await readFile(tiny)));
    return path;
  }

  it("tells the model's configuration, tokenizer and template", async () => {
    const file = await GgufFile.open(tiny);
    const original = JSON.parse(await readFile(`${fixtures}../tiny-llama3/config.json`, "utf8"));
    const config = await ggufConfig(file);
    for (const key of ["model_type", "vocab_size", "hidden_size", "num_hidden_layers", "num_key_value_heads", "intermediate_size"]) {
      expect(config[key], key).toEqual(original[key]);
    }
    expect(config).toMatchObject({ rms_norm_eps: original.rms_norm_eps, tie_word_embeddings: original.tie_word_embeddings });
    expect(config["rope_scaling"]).toMatchObject({ rope_type: "llama3", factor: original.rope_parameters.factor });
    const { tokenizer, tokenizerConfig } = ggufTokenizer(file);
    expect(tokenizer["added_tokens"]).toMatchObject([{ content: "<unk>" }, { content: "<s>" }, { content: "</s>", special: true }]);
    expect(tokenizerConfig).toMatchObject({ bos_token: "<s>", eos_token: "</s>", chat_template: expect.stringContaining("message") });
    await file.close();
  });

  it.each([
    ["no GGUF", (bytes: Buffer) => Buffer.concat([Buffer.from("GGML"), bytes.subarray(4)]), "not a GGUF file"],
    [
      "another version",
      (bytes: Buffer) => Buffer.concat([bytes.subarray(0, 4), Buffer.from([9, 0, 0, 0]), bytes.subarray(8)]),
      "version 9",
    ],
    ["a cut header", (bytes: Buffer) => bytes.subarray(0, 900), "is truncated: its header ends at byte"],
    ["cut tensors", (bytes: Buffer) => bytes.subarray(0, bytes.length - 64), "is truncated"],
    ["a length out of all proportion", (bytes: Buffer) => overwritten(bytes, 24, 0x7fffffff), "the file is damaged"],
    ["another architecture", (bytes: Buffer) => replaced(bytes, "llama", "mamba"), 'general.architecture is "mamba": supported are'],
  ])("is refused when it has %s", async (_, change, message) => {
    const path = await changed(change);
    const failure = GgufFile.open(path).then((file) => ggufConfig(file).finally(() => file.close()));
    await expect(failure).rejects.toThrow(ModelError);
    await expect(failure).rejects.toThrow(message);
    await expect(failure).rejects.toThrow(path);
  });

  it("names a tensor that is missing or has another shape", async () => {
    const file = await GgufFile.open(tiny);
    await expect(file.readInto("blk.9.attn_q.weight", [1], new Float32Array(1))).rejects.toThrow("tensor blk.9.attn_q.weight is missing");
    await expect(file.readInto("output_norm.weight", [3], new Float32Array(3))).rejects.toThrow(
      /output_norm.weight has shape \[\d+\], expected \[3\]/,
    );
    await file.close();
  });

  it("refuses tokenizers that it can't rebuild", async () => {
    const file = await GgufFile.open(await changed((bytes) => replaced(bytes, "llama-bpe", "other-bpe")));
    expect(() => ggufTokenizer(file)).toThrow(/pre-tokenizer "other-bpe"; supported are .*llama-bpe.*Hugging Face folder/);
    await file.close();
  });
});

function overwritten(bytes: Buffer, at: number, value: number): Buffer {
  const copy = Buffer.from(bytes);
  copy.writeUInt32LE(value, at);
  return copy;
}

/** The first occurrence replaced by a text of the same length. */
function replaced(bytes: Buffer, text: string, other: string): Buffer {
  const copy = Buffer.from(bytes);
  copy.write(other, bytes.indexOf(text), "utf8");
  return copy;
}
