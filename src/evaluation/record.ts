/** What an evaluation keeps of one question: a trajectory in words (no tokens), with every score that the tables are made of. */
import { isFormatValid, searchSteps } from "../agent/trajectory.ts";
import type { Config } from "../config.ts";
import { isRelevant } from "../ranker/relevance-labels.ts";
import { type RankerReward, rankerReward } from "../reward/ranker-reward.ts";
import { configuredRelevance } from "../reward/relevance.ts";
import { type AnswerProfile, exactMatch, tokenF1 } from "../text.ts";
import type { Action, Question, RankerCall, SearchStep, StopReason, Trajectory } from "../types.ts";

/** A candidate as the reader of a report needs it. */
export interface CandidateRecord {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  /** Retriever's rank, from 1. */
  readonly rank: number;
  readonly score: number;
  /** Contains a gold answer. */
  readonly relevant: boolean;
}

/** One retrieval step. */
export interface SearchRecord {
  readonly query: string;
  readonly candidates: readonly CandidateRecord[];
  /** What the agent saw: retriever's ranks, in the order shown. */
  readonly shownRanks: readonly number[];
  /** The generative ranker's part; absent in systems without one. */
  readonly ranker?: {
    readonly output: string;
    readonly reason?: string;
    readonly malformed?: string;
    /** What Eq. 6 would give for this call. */
    readonly reward: RankerReward;
  };
  /** I_ans: some candidate contains a gold answer (never, when every gold answer is trivial). */
  readonly answerInCandidates: boolean;
  /** The first document that the agent saw contains a gold answer. */
  readonly hitAt1: boolean;
  /** One of the documents that the agent saw does. */
  readonly hitAtK: boolean;
}

/** One turn of the agent. */
export interface TurnRecord {
  /** The model's own words, verbatim. */
  readonly output: string;
  readonly thought?: string;
  readonly action: Action;
  readonly search?: SearchRecord;
}

/** One question with its answer, its scores and the way there. */
export interface QuestionRecord {
  readonly questionId: string;
  readonly question: string;
  readonly goldAnswers: readonly string[];
  readonly dataset: string;
  /** Facts that have to be chained, where the questions file tells. */
  readonly hops?: number;
  readonly answer?: string;
  readonly stopReason: StopReason;
  /** Token F1 against the best gold answer; 0 without an answer and after a format error, as in Eq. 4. */
  readonly f1: number;
  readonly em: 0 | 1;
  /** The main agent's format. */
  readonly formatValid: boolean;
  readonly searches: number;
  readonly turns: readonly TurnRecord[];
}

/** How a record is scored: the answer profile and the reward section of the run's configuration. */
export interface Scoring {
  readonly answerProfile: AnswerProfile;
  readonly reward: Config["reward"];
}

/** Reads a finished trajectory into a record. */
export function questionRecord(question: Question, trajectory: Trajectory, scoring: Scoring): QuestionRecord {
  const formatValid = isFormatValid(trajectory);
  const scored = formatValid ? (trajectory.answer ?? "") : "";
  const f1 = tokenF1(scored, question.goldAnswers, scoring.answerProfile);
  return {
    questionId: question.id,
    question: question.question,
    goldAnswers: question.goldAnswers,
    dataset: question.dataset,
    ...(trajectory.answer === undefined ? {} : { answer: trajectory.answer }),
    stopReason: trajectory.stopReason,
    f1,
    em: exactMatch(scored, question.goldAnswers, scoring.answerProfile),
    formatValid,
    searches: searchSteps(trajectory).length,
    turns: trajectory.turns.map(({ output, action, search }) => {
      const thought = blockText(output.text);
      return {
        output: output.text,
        ...(thought ? { thought } : {}),
        action,
        ...(search ? { search: searchRecord(question, search, f1, scoring.reward) } : {}),
      };
    }),
  };
}

/** Reads one retrieval step into a record; `main` is the trajectory's answer F1. */
export function searchRecord(question: Question, step: SearchStep, main: number, reward: Config["reward"]): SearchRecord {
  const candidates = step.candidates.map(({ document, rank, score }) => ({
    id: document.id,
    title: document.title,
    text: document.text,
    rank,
    score,
    relevant: isRelevant(document, question.goldAnswers),
  }));
  const shown = step.observation.flatMap(({ id }) => candidates.filter((candidate) => candidate.id === id).slice(0, 1));
  const hits = shown.map(({ relevant }) => relevant);
  const answerInCandidates = candidates.some(({ relevant }) => relevant);
  return {
    query: step.query,
    candidates,
    shownRanks: shown.map(({ rank }) => rank),
    ...(step.rankerCall ? { ranker: rankerRecord(step.rankerCall) } : {}),
    answerInCandidates,
    hitAt1: hits[0] ?? false,
    hitAtK: hits.includes(true),
  };

  function rankerRecord({ output, ranking }: RankerCall) {
    const reason = blockText(output.text);
    const inPool = candidates.filter(({ relevant }) => relevant).length;
    const relevance = configuredRelevance(hits, inPool, reward);
    return {
      output: output.text,
      ...(reason ? { reason } : {}),
      ...(ranking.kind === "malformed" ? { malformed: ranking.reason } : {}),
      reward: rankerReward({ formatValid: ranking.kind === "ranked", answerInCandidates, relevance, main }, reward),
    };
  }
}

/** The words inside the first reasoning block. */
export function blockText(output: string): string | undefined {
  return /<(reason|think)>([\s\S]*?)<\/\1>/.exec(output)?.[2]?.trim();
}
