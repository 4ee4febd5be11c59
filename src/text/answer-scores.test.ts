import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DataError } from "../errors.ts";
import { type AnswerProfile, coverMatch, exactMatch, normalizeAnswer, normalizeQuery, tokenF1 } from "../text.ts";

const profiles: AnswerProfile[] = ["squad", "unicode", "cjk"];
const nonEmpty = fc
  .oneof(fc.string({ unit: "grapheme" }), fc.constantFrom("A", "the", "!!!", "東京 都", "St. John's"))
  .filter((text) => text.trim() !== "");
const scores = { tokenF1, exactMatch, coverMatch };

describe.each(Object.entries(scores))("%s", (_name, score) => {
  it.each(profiles)("is 1 for any non-empty answer against itself (%s)", (profile) => {
    fc.assert(
      fc.property(nonEmpty, (answer) => {
        expect(score(answer, [answer], profile)).toBe(1);
      }),
    );
  });

  it("stays within 0..1 and never falls when an alias is added", () => {
    fc.assert(
      fc.property(fc.string(), fc.array(fc.string(), { minLength: 1 }), fc.string(), (prediction, aliases, further) => {
        const before = score(prediction, aliases);
        const after = score(prediction, [...aliases, further]);
        expect(before).toBeGreaterThanOrEqual(0);
        expect(after).toBeLessThanOrEqual(1);
        expect(after).toBeGreaterThanOrEqual(before);
      }),
    );
  });

  it("gives an empty prediction nothing, whatever the aliases", () => {
    fc.assert(
      fc.property(fc.constantFrom("", " ", "\n\t"), fc.array(fc.string(), { minLength: 1 }), (blank, aliases) => {
        expect(score(blank, aliases)).toBe(0);
      }),
    );
  });

  it("calls a question without gold answers a data error", () => {
    expect(() => score("Oslo", [])).toThrow(DataError);
  });
});

describe("tokenF1", () => {
  it("is symmetric", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (first, second) => {
        expect(tokenF1(first, [second])).toBe(tokenF1(second, [first]));
      }),
    );
  });

  it("shares three words of four and five: 2·3/9", () => {
    expect(tokenF1("Treaty of Paris 1783", ["The Treaty of Paris (signed 1898)"])).toBeCloseTo(6 / 9, 12);
  });

  it("ignores an empty alias beside a good one", () => {
    expect(tokenF1("Oslo", ["", "Oslo"])).toBe(1);
    expect(tokenF1("!!!", [""])).toBe(0);
  });
});

describe("normalizeAnswer", () => {
  it("drops articles that are whole words only, also beside punctuation that squad keeps", () => {
    expect(normalizeAnswer("A theatre in the Hague")).toBe("theatre in hague");
    expect(normalizeAnswer("“The Heroes”")).toBe("“ heroes”");
  });

  it("keeps the last letter of a word with a decomposed accent", () => {
    expect(normalizeAnswer("Mari\u0301a")).toBe("mari\u0301a");
  });

  it("reads dashes as spaces in the unicode profile, the minus sign included", () => {
    expect(normalizeAnswer("1914–18", "unicode")).toBe("1914 18");
    expect(normalizeAnswer("−40", "unicode")).toBe(normalizeAnswer("-40", "unicode"));
  });

  it("keeps words and ideographs apart in the cjk profile", () => {
    expect(normalizeAnswer("Tokyo東京タワー", "cjk")).toBe("tokyo 東 京 タワー");
  });
});

describe("normalizeQuery (Eq. 5)", () => {
  it("keeps letters, marks, digits and underscores, and nothing else", () => {
    expect(normalizeQuery("  The élan of a_b, 3.5% — Who's Mari\u0301a? ")).toBe("élan of a_b 3 5 who s mari\u0301a");
  });

  it("changes nothing the second time, unless a new article appears", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const once = normalizeQuery(text);
        fc.pre(!/\b(an?|the)\b/.test(once));
        expect(normalizeQuery(once)).toBe(once);
      }),
    );
  });
});
