import { Tokenizer } from "@huggingface/tokenizers";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConfigError } from "../errors.ts";
import { trainBpe } from "./bpe-trainer.ts";

const pieces = ["<|end|>", "<answer>", "</answer>", '<tool_call>{"name":"search","arguments":{"query":"', '"}}</tool_call>', "[1]", "[10]"];
const options = { vocabularySize: 330, addedPieces: pieces.map((content) => ({ content })), endOfText: "<|end|>" };
const texts = [
  "The capital of Norway is Oslo.",
  "the capital of Peru is Lima",
  "capital: São Tomé",
  "[1] [10] <answer> <answer> <answer> <answer>",
];

function load(files: ReturnType<typeof trainBpe>): Tokenizer {
  return new Tokenizer(JSON.parse(JSON.stringify(files.tokenizer)), JSON.parse(JSON.stringify(files.config)));
}

const encode = (tokenizer: Tokenizer, text: string) => tokenizer.encode(text, { add_special_tokens: false }).ids;

describe("trainBpe", () => {
  it("merges the most frequent pairs first and stops at the vocabulary size", () => {
    const tokenizer = load(trainBpe(["aab aab aab ab"], { vocabularySize: 256 + 2, addedPieces: [] }));
    expect([...tokenizer.get_vocab().keys()].slice(256)).toEqual(["Ġa", "ab"]);
  });

  it("breaks ties by symbol order, whatever the order of the texts", () => {
    expect(trainBpe(texts, options)).toEqual(trainBpe(texts.slice().reverse(), options));
  });

  it("gives the added pieces the first ids and keeps each one token", () => {
    const tokenizer = load(trainBpe(texts, options));
    pieces.forEach((piece, id) => {
      expect(encode(tokenizer, piece)).toEqual([id]);
    });
    expect(encode(tokenizer, "[1][10]")).toEqual([5, 6]);
  });

  it("never merges plain text into an added piece", () => {
    const files = trainBpe(Array(50).fill("<answer>"), { ...options, addPrefixSpace: false, minPairCount: 2 });
    const merges = (files.tokenizer as { model: { merges: [string, string][] } }).model.merges;
    expect(merges.length).toBeGreaterThan(3);
    expect(merges.map((pair) => pair.join(""))).not.toContain("<answer>");
  });

  it("folds case and accents when asked", () => {
    const tokenizer = load(trainBpe(texts, { ...options, fold: true }));
    expect(encode(tokenizer, "SÃO Tomé")).toEqual(encode(tokenizer, "sao tome"));
    expect(tokenizer.decode(encode(tokenizer, "SÃO Tomé"))).toBe(" sao tome");
  });

  it("encodes any text and gives it back, prefix space apart", () => {
    const tokenizer = load(trainBpe(texts, options));
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: "grapheme" }), (text) => {
        fc.pre(!pieces.some((piece) => text.includes(piece)));
        const decoded = tokenizer.decode(encode(tokenizer, text), { clean_up_tokenization_spaces: false });
        expect(decoded).toBe(text.startsWith(" ") ? text : ` ${text}`);
      }),
    );
  });

  it("caps how often a word counts", () => {
    const firstMerge = (maxWordCount?: number) =>
      [
        ...load(trainBpe(["zz ".repeat(100), "ab ab ab ab"], { vocabularySize: 257, addedPieces: [], maxWordCount }))
          .get_vocab()
          .keys(),
      ].at(-1);
    expect(firstMerge()).toBe("Ġz");
    // Both words count 3 now: the tie goes to the smaller symbols.
    expect(firstMerge(3)).toBe("Ġa");
  });

  it("refuses a vocabulary without room, naming the sizes", () => {
    expect(() => trainBpe(texts, { ...options, vocabularySize: 262 })).toThrow(ConfigError);
    expect(() => trainBpe(texts, { ...options, vocabularySize: 262 })).toThrow(
      /262 is too small: 7 added pieces and 256 bytes need at least 263/,
    );
    expect(() => trainBpe(texts, { ...options, endOfText: "</s>" })).toThrow(/endOfText "<\/s>" is not one of addedPieces/);
    expect(() => trainBpe(texts, { ...options, addedPieces: [{ content: "[1]" }, { content: "[1]" }] })).toThrow(/"\[1\]" is there twice/);
  });
});
