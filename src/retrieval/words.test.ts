import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stem } from "./stem.ts";
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
  it("stems English words and leaves all others", () => {
    expect(bm25Words("Bands banded bänds 1990s Страны")).toEqual(["band", "band", "band", "1990s", "страны"]);
  });
});

describe("stem", () => {
  // The examples of Porter's paper, taken through all five steps, as Snowball's implementation of the same algorithm gives them.
  it.each([
    "caresses:caress ponies:poni ties:ti caress:caress cats:cat feed:feed agreed:agre plastered:plaster bled:bled motoring:motor sing:sing",
    "conflated:conflat troubled:troubl sized:size hopping:hop tanned:tan falling:fall hissing:hiss fizzed:fizz failing:fail filing:file",
    "happy:happi sky:sky relational:relat conditional:condit rational:ration valenci:valenc hesitanci:hesit digitizer:digit",
    "conformabli:conform radicalli:radic differentli:differ vileli:vile analogousli:analog vietnamization:vietnam predication:predic",
    "operator:oper feudalism:feudal decisiveness:decis hopefulness:hope callousness:callous formaliti:formal sensitiviti:sensit",
    "sensibiliti:sensibl triplicate:triplic formative:form formalize:formal electriciti:electr electrical:electr hopeful:hope",
    "goodness:good revival:reviv allowance:allow inference:infer airliner:airlin gyroscopic:gyroscop adjustable:adjust",
    "defensible:defens irritant:irrit replacement:replac adjustment:adjust dependent:depend adoption:adopt homologou:homolog",
    "communism:commun activate:activ angulariti:angular homologous:homolog effective:effect bowdlerize:bowdler probate:probat",
    "rate:rate cease:ceas controll:control roll:roll yellow:yellow syzygy:syzygi by:by",
  ])("%s", (line) => {
    const pairs = line.split(" ").map((pair) => pair.split(":"));
    expect(pairs.map(([word]) => [word, stem(word as string)])).toEqual(pairs);
  });
});
