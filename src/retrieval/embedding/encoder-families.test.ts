import { describe, expect, it } from "vitest";
import { encoderFamily, prefixed } from "./encoder-families.ts";
import { promptPrefixes } from "./encoder-prompts.ts";

describe("encoderFamily", () => {
  it.each([
    ["intfloat/e5-base-v2", "query: ", "passage: ", "mean"],
    ["/models/multilingual_e5_small", "query: ", "passage: ", "mean"],
    ["intfloat/multilingual-e5-large-instruct", expect.stringMatching(/^Instruct: .*\nQuery: $/), "", "mean"],
    ["intfloat/e5-mistral-7b-instruct", expect.stringMatching(/^Instruct: /), "", "last"],
    ["BAAI/bge-base-en-v1.5", "Represent this sentence for searching relevant passages: ", "", "cls"],
    ["BAAI/bge-small-zh-v1.5", expect.stringMatching(/^为这个句子/), "", "cls"],
    ["BAAI/bge-m3", "", "", "cls"],
    ["thenlper/gte-base", "", "", "mean"],
    ["Alibaba-NLP/gte-base-en-v1.5", "", "", "cls"],
    ["nomic-ai/nomic-embed-text-v1.5", "search_query: ", "search_document: ", "mean"],
    ["sentence-transformers/all-MiniLM-L6-v2", "", "", "mean"],
    ["somebody/base5-model", "", "", "mean"],
  ])("%s", (model, queryPrefix, documentPrefix, pooling) => {
    expect(encoderFamily(model)).toEqual({ queryPrefix, documentPrefix, pooling });
  });
});

describe("promptPrefixes", () => {
  const e5 = encoderFamily("e5-base");
  it("takes what the file says, for both sides", () => {
    expect(promptPrefixes({ prompts: { query: "q: ", passage: "p: ", document: "" } }, e5)).toEqual({
      queryPrefix: "q: ",
      documentPrefix: "p: ",
    });
    expect(promptPrefixes({ prompts: { query: "q: " }, default_prompt_name: "query" }, e5)).toEqual({
      queryPrefix: "q: ",
      documentPrefix: "",
    });
    expect(promptPrefixes({ prompts: { search_query: "a", search_document: "b" } }, e5)).toEqual({ queryPrefix: "a", documentPrefix: "b" });
  });
  it("takes the family's where the file is absent, has none or only empty ones", () => {
    for (const settings of [undefined, {}, { prompts: null }, { prompts: { query: "", document: "" } }]) {
      expect(promptPrefixes(settings, e5)).toMatchObject({ queryPrefix: "query: ", documentPrefix: "passage: " });
    }
  });
});

describe("prefixed", () => {
  it("never doubles a prefix", () => {
    expect(prefixed("query: ", "who")).toBe("query: who");
    expect(prefixed("query: ", "query: who")).toBe("query: who");
    expect(prefixed("query: ", "passage: who")).toBe("query: passage: who");
    expect(prefixed("", "who")).toBe("who");
  });
});
