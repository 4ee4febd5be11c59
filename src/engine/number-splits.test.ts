import { Tokenizer } from "@huggingface/tokenizers";
import { describe, expect, it } from "vitest";
import { HfRenderer } from "./hf-renderer.ts";
import { withUnicodeNumbers } from "./number-splits.ts";
import { bpeModel, byteLevel } from "./tokenizer-json.ts";

/** Byte-level pieces of the texts below, and the merges that join a space or a digit with what follows where nothing splits them. */
const names = ["Ġ", "Â", "²", "½", "a", "1", "2", "Â²", "Â½", "12", "ĠÂ²"];
const vocabulary = Object.fromEntries(names.map((piece, id) => [piece, id]));
const merges = ["Â ²", "Â ½", "Ġ Â²", "1 2"];

function tokenizerWith(individual: boolean) {
  return {
    version: "1.0",
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: { type: "Sequence", pretokenizers: [{ type: "Digits", individual_digits: individual }, byteLevel(false)] },
    post_processor: null,
    decoder: byteLevel(true),
    model: bpeModel(vocabulary, merges),
  };
}

const pieces = (individual: boolean, text: string) => {
  const json = tokenizerWith(individual);
  const renderer = new HfRenderer({ folder: "numbers", tokenizer: json, tokenizerConfig: {} });
  expect(renderer.encodeData(text)).toEqual(renderer.encodeMarkup(text));
  return renderer.encodeMarkup(text).map((id) => names[id]);
};

describe("numbers", () => {
  // As tokenizers 0.23 (Rust) splits them.
  it("are split one by one where digits are individual, beyond ASCII too", () => {
    expect(pieces(true, "a ²12½")).toEqual(["a", "Ġ", "Â²", "1", "2", "Â½"]);
  });

  it("stay together where they are not individual, apart from what is around them", () => {
    expect(pieces(false, "a 12")).toEqual(["a", "Ġ", "12"]);
  });

  it("leaves other steps and the argument alone", () => {
    const json = tokenizerWith(true);
    const before = structuredClone(json);
    withUnicodeNumbers(json);
    expect(json).toEqual(before);
    const plain = { ...json, pre_tokenizer: byteLevel(false) };
    expect(withUnicodeNumbers(plain)).toEqual(plain);
    expect(withUnicodeNumbers({ pre_tokenizer: null })).toEqual({ pre_tokenizer: null });
  });

  it("are what the library itself gets wrong: without the change a space would join a superscript", () => {
    const ids = new Tokenizer(tokenizerWith(true), {}).encode(" ²", { add_special_tokens: false }).ids;
    expect((ids as number[]).map((id) => names[id])).toEqual(["ĠÂ²"]);
  });
});
