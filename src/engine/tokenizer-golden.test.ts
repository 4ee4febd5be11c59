/** Our tokenizer files mean the same to Hugging Face's Python tokenizers (golden ids made by bench/peers/make-goldens.py) and to us. */
import { readFileSync } from "node:fs";
import { Tokenizer } from "@huggingface/tokenizers";
import { describe, expect, it } from "vitest";
import { trainFixtureTokenizers } from "../../test/fixtures/engine/fixture-tokenizers.ts";

interface Golden {
  readonly cases: readonly { readonly text: string; readonly tokenIds: readonly number[]; readonly decoded: string }[];
}

function readFixture(path: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../test/fixtures/engine/${path}`, import.meta.url), "utf8"));
}

describe.each(["tokenizer", "tokenizer-folded"] as const)("%s", (name) => {
  const tokenizer = new Tokenizer(readFixture(`${name}/tokenizer.json`) as object, readFixture(`${name}/tokenizer_config.json`) as object);
  const { cases } = readFixture(`${name}/golden.json`) as Golden;

  it("is what the trainer still makes of the fixture's sentences", () => {
    expect(JSON.parse(JSON.stringify(trainFixtureTokenizers()[name].tokenizer))).toEqual(readFixture(`${name}/tokenizer.json`));
  });

  it.each(cases)("encodes $text as Python does", ({ text, tokenIds }) => {
    expect(tokenizer.encode(text, { add_special_tokens: false }).ids).toEqual(tokenIds);
  });

  it.each(cases.filter(({ tokenIds }) => tokenIds.length > 0))("decodes the ids of $text as Python does", ({ tokenIds, decoded }) => {
    expect(tokenizer.decode([...tokenIds], { skip_special_tokens: false, clean_up_tokenization_spaces: false })).toBe(decoded);
  });
});
