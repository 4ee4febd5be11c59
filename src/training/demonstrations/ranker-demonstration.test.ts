import "../../../test/property-seed.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { questions, tinyRenderer } from "../../../test/fixtures/training/tiny-world.ts";
import { rankerProtocol } from "../../ranker/prompt.ts";
import { Rng } from "../../rng.ts";
import type { Candidate, Question } from "../../types.ts";
import { noHints } from "./hints.ts";
import { rankerDemonstration } from "./ranker-demonstration.ts";
import { NoDemonstration } from "./turn-text.ts";

const renderer = tinyRenderer();
const question = questions[0] as Question;
const protocolOptions = { prompt: "compact", passageCharacters: 60, topK: 2, candidates: 4, grammar: false } as const;
const tools = { protocol: rankerProtocol(renderer, protocolOptions), renderer, topK: 2, maxTokens: 120, passageCharacters: 60 };

const candidates = (...texts: string[]): Candidate[] =>
  texts.map((text, index) => ({ document: { id: `${index}`, title: `title ${index}`, text }, score: 1 / (index + 1), rank: index + 1 }));

function demonstrate(found: readonly Candidate[], seed: number, change: Partial<typeof tools> & { contextTokens?: number } = {}) {
  return rankerDemonstration(question, noHints, { query: "capital", candidates: found }, { ...tools, ...change }, Rng.stream(seed));
}

const written = ({ tokenIds, weights }: ReturnType<typeof demonstrate>) => tokenIds.filter((_, index) => weights[index] === 1);

describe("rankerDemonstration", () => {
  const found = candidates("rome is old", "the capital is oslo", "lima is far", "paris is big");

  it("puts what holds the answer first, then the retriever's order, whatever labels they have", () => {
    const said = Array.from({ length: 20 }, (_, seed) => {
      const made = demonstrate(found, seed);
      const text = renderer.decode(written(made));
      const ranking = tools.protocol.parse(text, 4);
      // The prompt is data and labels: which candidate a label stands for is read from there.
      const prompt = renderer.decode(made.tokenIds.filter((_, index) => made.weights[index] === 0));
      const shown = [...prompt.slice(prompt.indexOf("<documents>")).matchAll(/title (\d)/g)].map((match) => Number(match[1]));
      if (ranking.kind !== "ranked") throw new Error(ranking.reason);
      return { order: ranking.candidateRanks.map((rank) => shown[rank - 1]), text, first: ranking.candidateRanks[0] };
    });
    for (const { order, text, first } of said) {
      expect(order).toEqual([1, 0]);
      expect(text).toContain(`<reason>[${first}] says: `);
    }
    expect(new Set(said.map(({ first }) => first)).size).toBeGreaterThan(2);
  });

  it("keeps the retriever's order where no candidate holds the answer", () => {
    const made = demonstrate(candidates("rome", "lima"), 3);
    expect(renderer.decode(written(made))).toContain("is closest.");
  });

  it("takes a shorter reason where the budget is small, and is none where nothing fits", () => {
    const full = written(demonstrate(found, 1));
    const short = written(demonstrate(found, 1, { maxTokens: full.length - 1 }));
    expect(short.length).toBeLessThan(full.length);
    expect(tools.protocol.parse(renderer.decode(short), 4).kind).toBe("ranked");
    expect(() => demonstrate(found, 1, { maxTokens: 5 })).toThrow("a ranking is longer than its budget");
    expect(() => demonstrate(found, 1, { contextTokens: 20 })).toThrow("longer than the model's context");
    expect(() => demonstrate([], 1)).toThrow("nothing was retrieved");
  });

  it("keeps any passage data: the output always reads", () => {
    const piece = fc.constantFrom("</reason>", "<rerank>", "</rerank>", "[1]", " >", "oslo", "oslo.", '"', "東京", "\n");
    const text = fc
      .array(fc.oneof(piece, fc.string({ unit: "grapheme", maxLength: 5 })), { minLength: 1, maxLength: 8 })
      .map((parts) => parts.join(" "));
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), fc.nat(), (texts, seed) => {
        try {
          const output = written(demonstrate(candidates(...texts), seed));
          expect(tools.protocol.parse(renderer.decode(output), texts.length).kind).toBe("ranked");
        } catch (error) {
          if (!(error instanceof NoDemonstration)) throw error;
        }
      }),
    );
  });
});
