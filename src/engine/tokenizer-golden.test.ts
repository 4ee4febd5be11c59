/** Our tokenizer files mean the same to Hugging Face's Python tokenizers (golden ids made by bench/peers/make-goldens.py) and to us. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { trainFixtureTokenizers } from "../../test/fixtures/engine/fixture-tokenizers.ts";
import { loadRenderer } from "./hf-renderer.ts";

interface Golden {
  readonly cases: readonly { readonly text: string; readonly tokenIds: readonly number[]; readonly decoded: string }[];
}

describe.each(["tokenizer", "tokenizer-folded"] as const)("%s", async (name) => {
  const folder = fileURLToPath(new URL(`../../test/fixtures/engine/${name}`, import.meta.url));
  const read = (file: string): unknown => JSON.parse(readFileSync(`${folder}/${file}`, "utf8"));
  const { cases } = read("golden.json") as Golden;
  const renderer = await loadRenderer(folder);
  const isPlain = (tokenIds: readonly number[]) => !tokenIds.some((id) => renderer.specialTokenIds.includes(id));

  it("is what the trainer still makes of the fixture's sentences", () => {
    expect(JSON.parse(JSON.stringify(trainFixtureTokenizers()[name].tokenizer))).toEqual(read("tokenizer.json"));
  });

  it.each(cases)("encodes $text as Python does", ({ text, tokenIds }) => {
    expect(renderer.encodeMarkup(text)).toEqual(tokenIds);
  });

  it.each(cases.filter(({ tokenIds }) => isPlain(tokenIds)))("encodes $text as data as Python does", ({ text, tokenIds }) => {
    expect(renderer.encodeData(text)).toEqual(tokenIds);
  });

  it.each(cases)("decodes the ids of $text as Python does", ({ tokenIds, decoded }) => {
    expect(renderer.decode(tokenIds)).toBe(decoded);
  });
});
