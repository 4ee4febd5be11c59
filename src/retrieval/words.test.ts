import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bm25Words, wordsOf } from "./words.ts";

describe("wordsOf", () => {
  it("folds case, accents and compatibility forms", () => {
    expect(wordsOf("Perú's CAFÉ, ﬁve½ 日本 x_y")).toEqual(["peru", "s", "cafe", "five1", "2", "日本", "x", "y"]);
    expect(wordsOf("")).toEqual([]);
  });

  it("treats plain ASCII as the general rule does", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary-ascii" }), (text) => {
        // A letter beyond ASCII sends the text through the general rule.
        expect([...wordsOf(text), "日"]).toEqual(wordsOf(`${text} 日`));
      }),
    );
  });
});

describe("bm25Words", () => {
  it("stems English words, as Porter's paper does, and leaves other alphabets alone", () => {
    expect(bm25Words("caresses ponies relational hopping sky vietnamization electricity")).toEqual([
      "caress",
      "poni",
      "relat",
      "hop",
      "sky",
      "vietnam",
      "electr",
    ]);
    expect(bm25Words("Bands banded bänds 1990s Страны")).toEqual(["band", "band", "band", "1990", "страны"]);
  });
});
