import { describe, expect, it } from "vitest";
import { Bm25Index } from "../src/retrieval/indexing/bm25-index.ts";
import { missingRecallData, readRecallData, recallOf } from "./recall-data.ts";

describe("recallOf", () => {
  it("counts any gold passage in the first 5 and all in the first 20", () => {
    const others = Array.from({ length: 30 }, (_, index) => `other-${index}`);
    const questions = [
      { question: "first", gold: ["a", "b"] },
      { question: "second", gold: ["a"] },
      { question: "third", gold: ["a", "b"] },
      { question: "fourth", gold: ["a"] },
    ];
    const found = [
      [...others.slice(0, 4), "a", "b"],
      [...others.slice(0, 5), "a"],
      ["b", ...others.slice(0, 19), "a"],
      [...others.slice(0, 20), "a"],
    ];
    expect(recallOf(questions, found)).toEqual({ questions: 4, anyAt5: 0.5, allAt20: 0.5 });
  });
});

const folder = "../shared/data/qa";
const missing = await missingRecallData(folder);

describe.skipIf(missing !== undefined)(`BM25 over real passages (skipped where ${folder} is absent)`, () => {
  /**
   * The reference figures of that folder's README, each measured on 100 questions. Of these two sets the folder holds 100 questions, so they
   * should be the ones; of the others it holds more or fewer, and which were asked isn't told.
   */
  const reference = { hotpotqa: [0.98, 0.85], musique: [0.89, 0.26] } as const;

  it("agrees with the reference figures within 0.02", async () => {
    const { documents, datasets } = await readRecallData(folder, 100);
    const index = new Bm25Index(documents, { k1: 0.9, b: 0.4 });
    for (const [name, [anyAt5, allAt20]] of Object.entries(reference)) {
      const questions = datasets.get(name) ?? [];
      const found = questions.map(({ question }) => index.search(question, 20).map(({ document }) => document.id));
      const recall = recallOf(questions, found);
      expect(recall.questions).toBe(100);
      expect(Math.abs(recall.anyAt5 - anyAt5), `${name}: any gold in the top 5 is ${recall.anyAt5}`).toBeLessThan(0.0201);
      expect(Math.abs(recall.allAt20 - allAt20), `${name}: all gold in the top 20 is ${recall.allAt20}`).toBeLessThan(0.0201);
    }
  });
});
