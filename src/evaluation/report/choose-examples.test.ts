import { describe, expect, test } from "vitest";
import type { QuestionRecord, SearchRecord } from "../record.ts";
import { chooseExamples } from "./choose-examples.ts";

/** One search over four candidates, the answer at rank 3; `shown` are the ranks that the agent saw. */
function search(shown: readonly number[]): SearchRecord {
  const candidates = [1, 2, 3, 4].map((rank) => ({
    id: `${rank}`,
    title: "",
    text: `passage ${rank}`,
    rank,
    score: 1 / rank,
    relevant: rank === 3,
  }));
  return { query: "q", candidates, shownRanks: shown, answerInCandidates: true, hitAt1: shown[0] === 3, hitAtK: shown.includes(3) };
}

function record(questionId: string, f1: number, shown: readonly number[]): QuestionRecord {
  return {
    questionId,
    question: `question ${questionId}`,
    goldAnswers: ["gold"],
    dataset: "",
    answer: "answer",
    stopReason: "answered",
    f1,
    em: f1 === 1 ? 1 : 0,
    formatValid: true,
    searches: 1,
    turns: [{ output: "", action: { kind: "search", query: "q" }, search: search(shown) }],
  };
}

describe("chooseExamples", () => {
  test("shows where the joint ranker made the difference, both sides of the same question", () => {
    const cosearch = [record("a", 1, [1, 2]), record("b", 1, [3, 1])];
    const fixedRanker = [record("a", 0, [1, 2]), record("b", 0, [1, 2])];
    const [example] = chooseExamples({ cosearch, fixedRanker });
    expect(example?.heading).toBe("CoSearch finds what Fixed Ranker leaves behind");
    expect(example?.sides.map(({ key, record: side }) => [key, side.questionId])).toEqual([
      ["cosearch", "b"],
      ["fixedRanker", "b"],
    ]);
  });

  test("is honest: losses are shown too, and no question twice", () => {
    const cosearch = [record("a", 0, [1, 2]), record("b", 0, [1, 2])];
    const fixedRanker = [record("a", 1, [3, 1]), record("b", 0, [1, 2])];
    const oracle = [record("a", 1, [3, 1]), record("b", 1, [3, 1])];
    const examples = chooseExamples({ cosearch, fixedRanker, oracle });
    expect(examples.map(({ heading, sides }) => [heading, sides[0]?.record.questionId])).toEqual([
      ["Where CoSearch is wrong and Fixed Ranker is right", "a"],
      ["Only the Oracle gets there", "b"],
    ]);
  });

  test("never pairs different questions, and falls back to a first look at a system on its own", () => {
    const examples = chooseExamples({ cosearch: [record("a", 1, [3, 1])], fixedRanker: [record("z", 0, [1, 2])] });
    expect(examples.map(({ sides }) => sides.length)).toEqual([1, 1]);
    expect(chooseExamples({})).toEqual([]);
  });
});
