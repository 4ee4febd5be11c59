import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseRanking } from "./parse-ranking.ts";

const output = (list: string) => `<reason>Passage two fits best.</reason>\n<rerank>${list}</rerank>`;

describe("parseRanking", () => {
  it("reads back any choice of min(K, N) distinct labels, in both modes", () => {
    const choice = fc
      .record({ candidates: fc.integer({ min: 1, max: 60 }), topK: fc.integer({ min: 1, max: 12 }) })
      .chain(({ candidates, topK }) =>
        fc
          .shuffledSubarray(
            Array.from({ length: candidates }, (_, index) => index + 1),
            { minLength: Math.min(topK, candidates), maxLength: Math.min(topK, candidates) },
          )
          .map((labels) => ({ candidates, topK, labels })),
      );
    fc.assert(
      fc.property(choice, fc.constantFrom<"strict" | "lenient">("strict", "lenient"), ({ candidates, topK, labels }, mode) => {
        const text = output(labels.map((label) => `[${label}]`).join(" > "));
        expect(parseRanking(text, { candidates, topK, mode })).toEqual({ kind: "ranked", candidateRanks: labels });
      }),
    );
  });

  it("ranks exactly min(K, N) distinct labels within 1..N whenever it ranks, whatever the text", () => {
    const piece = fc.constantFrom(
      "[1]",
      "[2]",
      "[3]",
      "[9]",
      "[01]",
      " > ",
      ">",
      "，",
      "]",
      "[",
      "<reason>",
      "</reason>",
      "<rerank>",
      "</rerank>",
      "so",
    );
    const text = fc
      .tuple(fc.array(piece, { maxLength: 14 }), fc.constantFrom("", "</rerank>"))
      .map(([pieces, end]) => `<reason>x</reason><rerank>${pieces.join("")}${end}`);
    fc.assert(
      fc.property(text, fc.constantFrom<"strict" | "lenient">("strict", "lenient"), (output, mode) => {
        const ranking = parseRanking(output, { candidates: 4, topK: 3, mode });
        if (ranking.kind === "malformed") {
          expect(ranking.reason).not.toBe("");
        } else {
          expect(new Set(ranking.candidateRanks).size).toBe(3);
          expect(ranking.candidateRanks.every((label) => label >= 1 && label <= 4)).toBe(true);
        }
      }),
    );
  });

  it.each([
    ["a rerank block inside the reason", "<reason>a<rerank>[1] > [2]</rerank></reason><rerank>[1] > [2]</rerank>"],
    ["a no-break space between labels", output("[1]\u00a0> [2]")],
    ["a trailing separator", output("[1] > [2] >")],
  ])("calls %s malformed in strict mode", (_what, text) => {
    expect(parseRanking(text, { candidates: 5, topK: 2 }).kind).toBe("malformed");
  });

  it("reads an unclosed or unreasoned block leniently, but invents no ranking where there is none", () => {
    const options = { candidates: 5, topK: 3, mode: "lenient" } as const;
    expect(parseRanking("<rerank>[4] > [9] > [4]", options)).toEqual({ kind: "ranked", candidateRanks: [4, 1, 2] });
    expect(parseRanking("None of these help.", options).kind).toBe("malformed");
    expect(parseRanking(output("none"), options).kind).toBe("malformed");
    expect(parseRanking("<reason> </reason><rerank>[1]</rerank>", options).kind).toBe("malformed");
  });

  it("refuses impossible sizes, naming them", () => {
    expect(() => parseRanking(output("[1]"), { candidates: 0, topK: 1 })).toThrow(/candidates must be .* got 0/);
    expect(() => parseRanking(output("[1]"), { candidates: 3, topK: 1.5 })).toThrow(/topK must be .* got 1.5/);
  });
});
