import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutPassages, spacedWords, type TextBlock } from "./cut-passages.ts";

const sentence = (words: number, name = "w") => `${Array.from({ length: words }, (_, index) => `${name}${index}`).join(" ")}.`;
const paragraph = (...lengths: readonly number[]) => ({ text: lengths.map((length) => capitalised(sentence(length))).join(" ") });
const capitalised = (text: string) => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
const sizes = (blocks: readonly TextBlock[], words: number) => cutPassages(blocks, words).map(({ text }) => spacedWords(text).length);

describe("cutPassages", () => {
  it("ends passages at sentence borders, where they come nearest to the number of words", () => {
    expect(sizes([paragraph(60, 30, 30, 40, 20)], 100)).toEqual([90, 90]);
    expect(sizes([paragraph(60, 60, 60)], 100)).toEqual([120, 60]);
    const text =
      "It rained all day. Dr. J. R. Smith of the U.S. Army left at 5.30 p.m. and was late! Why? Who can say what the storm had done to them?";
    expect(cutPassages([{ text }], 16).map((passage) => passage.text)).toEqual([
      "It rained all day. Dr. J. R. Smith of the U.S. Army left at 5.30 p.m. and was late!",
      "Why? Who can say what the storm had done to them?",
    ]);
  });

  it("joins a short rest to the passage before", () => {
    expect(sizes([paragraph(60, 40, 30)], 100)).toEqual([130]);
    expect(sizes([paragraph(60, 40, 60)], 100)).toEqual([100, 60]);
    expect(sizes([paragraph(3)], 100)).toEqual([3]);
    expect(cutPassages([{ text: " \n " }], 100)).toEqual([]);
  });

  it("cuts a sentence of too many words into equal parts at word borders", () => {
    expect(sizes([paragraph(250)], 100)).toEqual([83, 84, 83]);
  });

  it("opens a passage at a heading, and names the section that a passage begins in", () => {
    const blocks = [
      paragraph(60),
      { text: "History", heading: true },
      paragraph(60, 60),
      { text: "Early history", heading: true },
      paragraph(60),
    ];
    expect(cutPassages(blocks, 100).map(({ section, text }) => [section, text.split("\n")[0]])).toEqual([
      [undefined, blocks[0]?.text],
      ["History", "History"],
      ["Early history", "Early history"],
    ]);
  });

  it("keeps line breaks between blocks only", () => {
    const [passage] = cutPassages([{ text: "One\n two." }, { text: "- three" }, { text: "\tfour" }], 100);
    expect(passage?.text).toBe("One two.\n- three\nfour");
  });

  it("counts words of scripts without spaces, and cuts there", () => {
    const text = "秘鲁的首都是利马。智利的首都是圣地亚哥。厄瓜多尔的首都是基多。";
    const passages = cutPassages([{ text }], 8);
    expect(passages.length).toBeGreaterThan(1);
    expect(passages.map((passage) => passage.text).join("")).toBe(text);
    for (const passage of passages) expect(passage.text).toMatch(/。$/);
  });

  it("bounds passages also where there are no words at all", () => {
    const passages = cutPassages([{ text: "x".repeat(100_000) }], 100);
    expect(passages.map((passage) => passage.text).join("")).toBe("x".repeat(100_000));
    expect(Math.max(...passages.map((passage) => passage.text.length))).toBeLessThanOrEqual(100 * 150);
  });

  const shape = fc.record({ heading: fc.boolean(), lengths: fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 12 }) });

  it("keeps passages between a half and one and a half of the words asked for, the last excepted", () => {
    fc.assert(
      fc.property(fc.array(shape, { maxLength: 6 }), fc.integer({ min: 1, max: 60 }), (shapes, words) => {
        const blocks = shapes.map(({ heading, lengths }) => ({ ...paragraph(...lengths), heading }));
        const counts = sizes(blocks, words);
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(
          shapes.flatMap(({ lengths }) => lengths).reduce((sum, count) => sum + count, 0),
        );
        for (const count of counts) expect(count).toBeLessThanOrEqual(1.5 * words);
        for (const count of counts.slice(0, -1)) expect(count).toBeGreaterThanOrEqual(words / 2);
      }),
    );
  });

  it("loses and doubles nothing of any text", () => {
    const block = fc.record({
      text: fc
        .array(fc.oneof(fc.lorem({ maxCount: 30, mode: "sentences" }), fc.string({ unit: "grapheme" }), fc.constant("利马是首都。")))
        .map((parts) => parts.join(" ")),
      heading: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(block, { maxLength: 12 }), fc.integer({ min: 1, max: 60 }), (blocks, words) => {
        const passages = cutPassages(blocks, words);
        const squeezed = (texts: readonly string[]) => texts.join("").replace(/\s+/gu, "");
        expect(squeezed(passages.map(({ text }) => text))).toBe(squeezed(blocks.map(({ text }) => text)));
      }),
    );
  });
});

describe("spacedWords", () => {
  it("gives the text back when joined", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        expect(spacedWords(text).join("").trim()).toBe(text.trim());
      }),
    );
  });
});
