/** What a run keeps of its rollouts, in words: trajectories/step-N.jsonl.gz, one question a line. */

import { isRelevant } from "../ranker/relevance-labels.ts";
import { passageText } from "../retrieval/passage-text.ts";
import type { MainReward } from "../reward/main-reward.ts";
import type { Action, Question, SearchStep, StopReason, Turn } from "../types.ts";
import type { ComparedGroup } from "./compare.ts";
import type { RankerCallOutcome, TrajectoryOutcome } from "./scoring.ts";

/** All G trajectories of one question of one step, with the ranker calls as they were grouped. */
export interface QuestionRolloutRecord {
  readonly step: number;
  readonly questionId: string;
  readonly question: string;
  readonly goldAnswers: readonly string[];
  readonly trajectories: readonly TrajectoryRecord[];
  readonly rankerGroups: readonly RankerGroupRecord[];
}

/** One trajectory in words. */
export interface TrajectoryRecord {
  readonly index: number;
  readonly stopReason: StopReason;
  readonly answer?: string;
  readonly reward: MainReward;
  readonly advantage: number;
  readonly turns: readonly {
    /** The agent's own words, verbatim. */
    readonly output: string;
    readonly action: Action;
    readonly search?: {
      readonly query: string;
      readonly candidates: readonly {
        readonly id: string;
        readonly title: string;
        readonly text: string;
        readonly rank: number;
        readonly relevant: boolean;
      }[];
      /** Ids of the documents shown, in order. */
      readonly shown: readonly string[];
      readonly ranker?: { readonly output: string; readonly malformed?: string };
    };
  }[];
}

/** One group of ranker calls as it was compared. */
export interface RankerGroupRecord {
  readonly key: string;
  readonly representativeQuery?: string;
  readonly answerInCandidates?: boolean;
  readonly members: readonly {
    readonly trajectory: number;
    readonly turn: number;
    readonly query: string;
    /** The passages that the ranker put forward, in order. */
    readonly ranking: readonly { readonly text: string; readonly relevant: boolean }[];
    readonly malformed?: string;
    readonly relevanceTerm: number;
    readonly mainTerm: number;
    readonly reward: number;
    readonly advantage: number;
  }[];
}

/** Reads one question's groups into a record. */
export function questionRolloutRecord(
  step: number,
  question: Question,
  mainGroup: ComparedGroup<TrajectoryOutcome>,
  rankerGroups: readonly ComparedGroup<RankerCallOutcome>[],
): QuestionRolloutRecord {
  return {
    step,
    questionId: question.id,
    question: question.question,
    goldAnswers: question.goldAnswers,
    trajectories: mainGroup.members.map(({ trajectory, reward }, position) => ({
      index: trajectory.index,
      stopReason: trajectory.stopReason,
      answer: trajectory.answer,
      reward,
      advantage: mainGroup.advantages[position] ?? 0,
      turns: trajectory.turns.map((turn) => turnRecord(turn, question)),
    })),
    rankerGroups: rankerGroups.map(({ key, representativeQuery, answerInCandidates, members, advantages }) => ({
      key,
      representativeQuery,
      answerInCandidates,
      members: members.map((member, position) => memberRecord(member, advantages[position] ?? 0)),
    })),
  };
}

function turnRecord({ output, action, search }: Turn, question: Question): TrajectoryRecord["turns"][number] {
  return { output: output.text, action, ...(search ? { search: searchRecord(search, question) } : {}) };
}

function searchRecord({ query, candidates, observation, rankerCall }: SearchStep, { goldAnswers }: Question) {
  return {
    query,
    candidates: candidates.map(({ document, rank }) => ({ ...document, rank, relevant: isRelevant(document, goldAnswers) })),
    shown: observation.map(({ id }) => id),
    ...(rankerCall ? { ranker: { output: rankerCall.output.text, ...malformedReason(rankerCall) } } : {}),
  };
}

function memberRecord({ call, hits, reward }: RankerCallOutcome, advantage: number): RankerGroupRecord["members"][number] {
  const ranks = call.ranking.kind === "ranked" ? call.ranking.candidateRanks : [];
  return {
    trajectory: call.trajectoryIndex,
    turn: call.turnIndex,
    query: call.query,
    ranking: ranks.map((rank, position) => {
      const document = call.candidates[rank - 1]?.document;
      return { text: document ? passageText(document) : "", relevant: hits[position] ?? false };
    }),
    ...malformedReason(call),
    relevanceTerm: reward.relevanceTerm,
    mainTerm: reward.mainTerm,
    reward: reward.total,
    advantage,
  };
}

function malformedReason({ ranking }: RankerCallOutcome["call"]): { malformed?: string } {
  return ranking.kind === "malformed" ? { malformed: ranking.reason } : {};
}
