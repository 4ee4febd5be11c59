import { Tokenizer } from "@huggingface/tokenizers";
import { describe, expect, it } from "vitest";
import { HfRenderer } from "./hf-renderer.ts";
import { bpeModel, byteLevel } from "./tokenizer-json.ts";
import { withUnicodeSplits } from "./unicode-splits.ts";

/** The bytes of the texts below as byte-level pieces, and merges that show where nothing splits. */
const names = ["Ġ", "Â", "²", "½", "ħ", "ï", "»", "¿", "a", "s", "\\", "1", "2", "Â²", "Â½", "12", "ĠÂ²", "Âħ", "ĠÂħ", "ï»", "ï»¿", "Ġï»¿"];
const vocabulary = Object.fromEntries(names.map((piece, id) => [piece, id]));
const merges = ["Â ²", "Â ½", "Ġ Â²", "1 2", "Â ħ", "Ġ Âħ", "ï »", "ï» ¿", "Ġ ï»¿"];
const digits = (individual: boolean) => ({ type: "Digits", individual_digits: individual });
const pattern = (Regex: string) => ({ type: "Split", pattern: { Regex }, behavior: "Isolated", invert: false });

function tokenizerWith(...steps: object[]) {
  const pre_tokenizer = { type: "Sequence", pretokenizers: steps };
  const model = bpeModel(vocabulary, merges);
  return { version: "1.0", added_tokens: [], normalizer: null, pre_tokenizer, post_processor: null, decoder: byteLevel(true), model };
}

function pieces(text: string, ...steps: object[]): string[] {
  const renderer = new HfRenderer({ folder: "splits", tokenizer: tokenizerWith(...steps), tokenizerConfig: {} });
  expect(renderer.encodeData(text)).toEqual(renderer.encodeMarkup(text));
  return renderer.encodeMarkup(text).map((id) => names[id] as string);
}

// What is expected is what tokenizers 0.23 (Rust) makes of the same files.
describe("numbers", () => {
  it("are split one by one where digits are individual, beyond ASCII too", () => {
    expect(pieces("a ²12½", digits(true), byteLevel(false))).toEqual(["a", "Ġ", "Â²", "1", "2", "Â½"]);
  });

  it("stay together where they are not individual, apart from what is around them", () => {
    expect(pieces("a 12", digits(false), byteLevel(false))).toEqual(["a", "Ġ", "12"]);
  });
});

describe("white space", () => {
  it("does not hold a byte-order mark, which a space may join", () => {
    expect(pieces("a \ufeff", byteLevel(false))).toEqual(["a", "Ġï»¿"]);
  });

  it("holds U+0085, which no space before it joins", () => {
    expect(pieces("a \u0085a", byteLevel(false))).toEqual(["a", "Ġ", "Âħ", "a"]);
  });

  it("is the same in a pattern that a tokenizer brings", () => {
    const steps = [pattern("\\S+|\\s(?!\\S)|\\s"), byteLevel(false, false)];
    expect(pieces("a\ufeff \u0085", ...steps)).toEqual(["a", "ï»¿", "Ġ", "Âħ"]);
    expect(pieces("a\\s", pattern("\\\\s|a"), byteLevel(false, false))).toEqual(["a", "\\", "s"]);
  });
});

describe("withUnicodeSplits", () => {
  it("leaves the argument and other steps alone", () => {
    const json = tokenizerWith(digits(true), byteLevel(false), pattern("\\s"));
    const before = structuredClone(json);
    withUnicodeSplits(json);
    expect(json).toEqual(before);
    for (const step of [byteLevel(false, false), byteLevel(true), { type: "Whitespace" }, null]) {
      expect(withUnicodeSplits({ pre_tokenizer: step })).toEqual({ pre_tokenizer: step });
    }
  });

  it("is needed: the library alone splits otherwise", () => {
    const alone = (text: string, ...steps: object[]) => {
      const ids = new Tokenizer(tokenizerWith(...steps), {}).encode(text, { add_special_tokens: false }).ids as number[];
      return ids.map((id) => names[id]);
    };
    expect(alone(" ²", digits(true), byteLevel(false))).toEqual(["ĠÂ²"]);
    expect(alone("a \u0085a", byteLevel(false))).toEqual(["a", "ĠÂħ", "a"]);
  });
});
