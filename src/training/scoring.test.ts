import { describe, expect, it } from "vitest";
import { tinyConfig } from "../../test/fixtures/training/tiny-run.ts";
import type { Candidate, Question, RankerCall, Ranking, SampledTokens, SearchStep, Trajectory } from "../types.ts";
import { answerScores, groupRankerCalls, scoreRankerCalls, scoreTrajectory } from "./scoring.ts";

const output: SampledTokens = { tokenIds: [1], logprobs: [-1], text: "", finishReason: "stop", policyVersion: 1 };
const candidates: Candidate[] = ["lima", "oslo", "cairo"].map((text, index) => ({
  document: { id: text, title: "", text },
  score: 1,
  rank: index + 1,
}));

function search(query: string, ranking: Ranking): SearchStep {
  const ranks = ranking.kind === "ranked" ? ranking.candidateRanks : [1, 2];
  const call: RankerCall = {
    questionId: "q",
    trajectoryIndex: 0,
    turnIndex: 0,
    question: "?",
    query,
    candidates,
    promptTokenIds: [1],
    output,
    ranking,
  };
  return { query, candidates, rankerCall: call, observation: ranks.flatMap((rank) => candidates[rank - 1]?.document ?? []) };
}

const ranked = (...candidateRanks: number[]): Ranking => ({ kind: "ranked", candidateRanks });
const broken: Ranking = { kind: "malformed", reason: "?" };

function outcome(goldAnswers: string[], answer: string | undefined, steps: SearchStep[], config = tinyConfig()) {
  const question: Question = { id: "q", question: "?", goldAnswers, dataset: "", split: "" };
  const turns = steps.map((step, index) => ({
    index,
    promptTokenIds: [1],
    output,
    action: { kind: "search", query: step.query } as const,
    search: step,
  }));
  const trajectory: Trajectory = { questionId: "q", index: 0, turns, ...(answer === undefined ? {} : { answer }), stopReason: "answered" };
  return scoreTrajectory(question, trajectory, config);
}

const totals = (...[gold, answer, steps, config = tinyConfig()]: Parameters<typeof outcome>) =>
  scoreRankerCalls(outcome(gold, answer, steps, config), config).map(({ reward }) => reward.total);

describe("ranker rewards of a trajectory (Eq. 6)", () => {
  it("takes relevance from the ranking and r_main from the whole trajectory", () => {
    const steps = [search("a", ranked(2, 1)), search("b", ranked(1, 2)), search("c", ranked(1, 3)), search("d", broken)];
    // Cutoffs 1 and 2: hits at 1 -> r_rel 1 > γ, so r_main is added; at 2 only -> 0.5; none -> 0; malformed -> −α.
    expect(totals(["oslo"], "oslo", steps)).toEqual([2, 0.5, 0, -0.2]);
    expect(totals(["oslo"], "rome", steps)).toEqual([1, 0.5, 0, -0.2]);
  });

  it("is r_main alone where no candidate holds the answer, or all answers are trivial", () => {
    expect(totals(["delhi"], "delhi", [search("a", ranked(1, 2))])).toEqual([1]);
    expect(totals(["yes", "true"], "yes", [search("a", ranked(1, 2))])).toEqual([1]);
  });

  it("takes nDCG for the ablation", () => {
    const config = tinyConfig({ reward: { relevance: "ndcg", cutoffs: [2], terms: "relevance" } });
    expect(totals(["oslo"], "oslo", [search("a", ranked(1, 2))], config)[0]).toBeCloseTo(1 / Math.log2(3), 12);
  });
});

describe("answerScores", () => {
  it("are F1 and EM of the answer, and 0 without one or after a format error", () => {
    expect(answerScores(outcome(["oslo fjord"], "The Oslo", []), tinyConfig())).toEqual({ f1: 2 / 3, em: 0 });
    expect(answerScores(outcome(["oslo"], "The Oslo", []), tinyConfig())).toEqual({ f1: 1, em: 1 });
    expect(answerScores(outcome(["oslo"], undefined, []), tinyConfig())).toEqual({ f1: 0, em: 0 });
    const right = outcome(["oslo"], "oslo", []);
    expect(answerScores({ ...right, reward: { ...right.reward, formatValid: false } }, tinyConfig())).toEqual({ f1: 0, em: 0 });
  });
});

describe("groupRankerCalls", () => {
  const steps = ["capital of norway", "norway capital", "rivers", "of norway capital"].map((query) => search(query, ranked(1, 2)));
  const calls = scoreRankerCalls(outcome(["oslo"], "oslo", steps), tinyConfig());

  it("tells the groups before and after dropping small ones", () => {
    const { formed, kept } = groupRankerCalls(calls, { ...tinyConfig().grouping, minGroupSize: 3 });
    expect(formed.map(({ members }) => members.length)).toEqual([3, 1]);
    expect(kept.map(({ members }) => members.length)).toEqual([3]);
    expect(new Set(formed.map(({ key }) => key)).size).toBe(2);
    expect(formed.every(({ key }) => key.startsWith("q:"))).toBe(true);
  });

  it("makes one group a question in the ablation, and none of no calls", () => {
    const ablation = { ...tinyConfig().grouping, kind: "question" as const };
    expect(groupRankerCalls(calls, ablation).kept.map(({ members }) => members.length)).toEqual([4]);
    expect(groupRankerCalls([], ablation)).toEqual({ formed: [], kept: [] });
  });
});
