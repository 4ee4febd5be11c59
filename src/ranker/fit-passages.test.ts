import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { documents, tinyRenderer } from "../../test/fixtures/training/tiny-world.ts";
import type { Candidate } from "../types.ts";
import { fitPassages } from "./fit-passages.ts";
import { rankerProtocol } from "./prompt.ts";

const renderer = tinyRenderer();
const tokensOf = (texts: readonly string[]) => texts.reduce((sum, text) => sum + renderer.encodeData(text).length, 0);
const words = (count: number) => Array.from({ length: count }, (_, index) => `word${index}`).join(" ");

describe("fitPassages", () => {
  it("leaves passages that fit alone", () => {
    const passages = [words(3), "", "short"];
    expect(fitPassages(renderer, passages, tokensOf(passages))).toEqual({ texts: passages, cut: 0 });
  });

  it("shortens the longest ones, at a word", () => {
    const passages = [words(80), "short", words(60)];
    const { texts, cut } = fitPassages(renderer, passages, 120);
    expect(cut).toBe(2);
    expect(texts[1]).toBe("short");
    for (const index of [0, 2]) {
      expect(passages[index]?.startsWith(`${texts[index]} `)).toBe(true);
      expect(tokensOf([texts[index] as string])).toBeGreaterThan(40);
    }
  });

  it("keeps to any budget, and only ever shows beginnings", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "grapheme", maxLength: 120 }), { maxLength: 12 }), fc.nat(400), (passages, budget) => {
        const { texts, cut } = fitPassages(renderer, passages, budget);
        expect(tokensOf(texts)).toBeLessThanOrEqual(budget);
        texts.forEach((text, index) => {
          expect(passages[index]?.startsWith(text)).toBe(true);
        });
        expect(cut).toBeGreaterThanOrEqual(texts.filter((text, index) => text !== passages[index]).length);
      }),
    );
  });
});

describe("a ranker prompt with a limit", () => {
  const candidates = documents
    .slice(0, 4)
    .map((document, index): Candidate => ({ document: { ...document, text: words(50) }, score: 0, rank: index + 1 }));
  const options = { grammar: false, passageCharacters: 5000, topK: 2, candidates: 4 } as const;

  it.each(["full", "compact"] as const)("fits, with every label and the question whole (%s)", (prompt) => {
    const free = rankerProtocol(renderer, { ...options, prompt }).prompt("the question", "the query", candidates);
    expect(free.cutPassages).toBe(0);
    const maxPromptTokens = free.tokenIds.length - 200;
    const fitted = rankerProtocol(renderer, { ...options, prompt, maxPromptTokens }).prompt("the question", "the query", candidates);
    expect(fitted.cutPassages).toBe(4);
    expect(fitted.tokenIds.length).toBeLessThanOrEqual(maxPromptTokens);
    expect(fitted.tokenIds.length).toBeGreaterThan(maxPromptTokens - 60);
    const text = renderer.decode(fitted.tokenIds);
    for (const part of ["the question", "the query", "[1]", "[2]", "[3]", "[4]"]) expect(text).toContain(part);
  });
});
