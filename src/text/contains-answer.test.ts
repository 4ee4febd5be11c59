import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DataError } from "../errors.ts";
import { containsAnswer, isTrivialAnswer } from "../text.ts";

describe("containsAnswer", () => {
  it("finds any visible answer between other words, composed or decomposed", () => {
    const answer = fc.string({ unit: "grapheme" }).filter((text) => text.trim() !== "" && !/^\s*\p{M}/u.test(text.normalize("NFD")));
    fc.assert(
      fc.property(answer, fc.constantFrom<"NFC" | "NFD">("NFC", "NFD"), (gold, form) => {
        expect(containsAnswer(`before ${gold.normalize(form)} after`, [gold])).toBe(true);
      }),
    );
  });

  it("never finds a blank alias", () => {
    expect(containsAnswer("anything", [" "])).toBe(false);
  });

  it("counts punctuation and articles as tokens", () => {
    expect(containsAnswer("Bank of the England", ["Bank of England"])).toBe(false);
    expect(containsAnswer("Bank of, England", ["Bank of England"])).toBe(false);
    expect(containsAnswer("Who sang? The Who.", ["the who"])).toBe(true);
  });

  it("keeps a mark with the sign it stands on", () => {
    expect(containsAnswer("a ≠ b", ["="])).toBe(false);
    expect(containsAnswer("a ≠b", ["b"])).toBe(true);
  });

  it("calls a question without gold answers a data error", () => {
    expect(() => containsAnswer("text", [])).toThrow(DataError);
  });
});

describe("isTrivialAnswer", () => {
  it("wants every answer to be exactly yes, no, true or false", () => {
    expect(isTrivialAnswer([" No ", "FALSE"])).toBe(true);
    expect(isTrivialAnswer(["no."])).toBe(false);
    expect(isTrivialAnswer([])).toBe(false);
  });
});
