import fc from "fast-check";
import { expect, test } from "vitest";
import { sentenceSegments, wordSegments } from "./segments.ts";

const seed = { seed: 20260729, numRuns: 60 };
const whole = (granularity: "sentence" | "word", text: string) =>
  Array.from(new Intl.Segmenter("en", { granularity }).segment(text), ({ segment }) => segment);

test("sentences are those of a segmenter that is given all of the text", () => {
  const piece = fc.constantFrom(
    "Mr. ",
    "a. ",
    "B! ",
    "12 ",
    "(",
    '." ',
    "word ",
    "x.y ",
    "这是例子。",
    "… ",
    "é? ",
    "1".repeat(3000),
    "A. ",
    "w ".repeat(2500),
  );
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 400 }), (pieces) => {
      const text = pieces.join("");
      expect([...sentenceSegments(text)]).toEqual(whole("sentence", text));
    }),
    seed,
  );
});

test("words of a text within a window are a segmenter's, and of any text join to it again", () => {
  const short = "这是一个关于法律的例子。ภาษาไทย abc";
  expect([...wordSegments(short)].map(({ segment }) => segment)).toEqual(whole("word", short));
  const long = "漢𠀀字か".repeat(5000);
  const found = [...wordSegments(long)].map(({ segment }) => segment);
  expect(found.join("")).toBe(long);
  expect(found.some((segment) => /\p{Surrogate}/u.test(segment))).toBe(false);
});

test("the time for one long line grows with its length, not with the square of it", () => {
  const started = performance.now();
  let count = 0;
  for (const _ of sentenceSegments("This is a plain sentence of English words. ".repeat(25_000))) count++;
  for (const _ of wordSegments("漢".repeat(250_000))) count++;
  expect(count).toBeGreaterThan(25_000);
  expect(performance.now() - started).toBeLessThan(8_000);
});
