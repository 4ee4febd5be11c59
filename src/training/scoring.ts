/** From rollouts to rewards: Eq. 4 for trajectories, Eq. 6 for their ranker calls. */
import { isFormatValid, searchSteps } from "../agent/trajectory.ts";
import type { Config } from "../config.ts";
import { questionGroups, semanticGroups } from "../grouping/semantic-groups.ts";
import { isRelevant, relevanceLabels } from "../ranker/relevance-labels.ts";
import { type MainReward, mainReward } from "../reward/main-reward.ts";
import { type RankerReward, rankerReward } from "../reward/ranker-reward.ts";
import { configuredRelevance } from "../reward/relevance.ts";
import { exactMatch } from "../text.ts";
import type { Group, Question, RankerCall, SearchStep, Trajectory } from "../types.ts";

/** A trajectory with its reward. */
export interface TrajectoryOutcome {
  readonly question: Question;
  readonly trajectory: Trajectory;
  readonly reward: MainReward;
}

/** A retrieval step with what it showed. */
export interface ShownStep {
  readonly step: SearchStep;
  /** Candidates that contain a gold answer. */
  readonly relevantCandidates: number;
  /** I_ans: whether there is one. */
  readonly answerInCandidates: boolean;
  /** Relevance of the documents shown, in order. */
  readonly hits: readonly boolean[];
}

/** A ranker call with its reward; `query` and `answerInCandidates` are what grouping looks at. */
export interface RankerCallOutcome {
  readonly query: string;
  readonly answerInCandidates: boolean;
  readonly call: RankerCall;
  /** Relevance of the documents that the ranker put forward, in order. */
  readonly hits: readonly boolean[];
  /** r_rel. */
  readonly relevance: number;
  readonly reward: RankerReward;
}

/** Eq. 4. Trajectories with an infrastructure failure are the caller's to leave out. */
export function scoreTrajectory(question: Question, trajectory: Trajectory, config: Config): TrajectoryOutcome {
  const { formatPenalty } = config.reward;
  const outcome = { formatValid: isFormatValid(trajectory), answer: trajectory.answer, goldAnswers: question.goldAnswers };
  return { question, trajectory, reward: mainReward(outcome, { formatPenalty, profile: config.data.answerProfile }) };
}

/** The scores of a trajectory's answer as result tables count them: 0 without an answer and after a format error. */
export function answerScores(
  { question, trajectory, reward }: TrajectoryOutcome,
  config: Config,
): { readonly f1: number; readonly em: 0 | 1 } {
  if (!reward.formatValid || trajectory.answer === undefined) return { f1: 0, em: 0 };
  return { f1: reward.answerF1, em: exactMatch(trajectory.answer, question.goldAnswers, config.data.answerProfile) };
}

/** What every search of a trajectory showed the agent. */
export function shownSteps({ question, trajectory }: Pick<TrajectoryOutcome, "question" | "trajectory">): ShownStep[] {
  return searchSteps(trajectory).map((step) => {
    const relevantCandidates = step.candidates.filter(({ document }) => isRelevant(document, question.goldAnswers)).length;
    const hits = relevanceLabels(step.observation, question.goldAnswers);
    return { step, relevantCandidates, answerInCandidates: relevantCandidates > 0, hits };
  });
}

/**
 * Eq. 6 for every ranker call of a trajectory. Calls of trajectories whose own format failed are left out (the paper), or score 0
 * (`training.excludeFormatFailures: false`, the published code).
 */
export function scoreRankerCalls(outcome: TrajectoryOutcome, config: Config): RankerCallOutcome[] {
  const { formatValid, answerF1 } = outcome.reward;
  if (!formatValid && config.training.excludeFormatFailures) return [];
  return shownSteps(outcome).flatMap(({ step, relevantCandidates, answerInCandidates, hits }) => {
    const call = step.rankerCall;
    if (!call) return [];
    const relevance = configuredRelevance(hits, relevantCandidates, config.reward);
    const facts = { formatValid: call.ranking.kind === "ranked", answerInCandidates, relevance, main: answerF1 };
    const reward: RankerReward = formatValid
      ? rankerReward(facts, config.reward)
      : { total: 0, rule: "main", relevanceTerm: 0, mainTerm: 0 };
    return [{ query: call.query, answerInCandidates, call, hits, relevance, reward }];
  });
}

/**
 * The groups of one question's ranker calls, in (trajectory, turn) order: all of them, and those of at least k_min members (Alg. 2). Their
 * keys name the question too.
 */
export function groupRankerCalls(
  calls: readonly RankerCallOutcome[],
  { kind, similarityThreshold, minGroupSize }: Config["grouping"],
): { readonly formed: Group<RankerCallOutcome>[]; readonly kept: Group<RankerCallOutcome>[] } {
  const group = kind === "semantic" ? semanticGroups : questionGroups;
  const groups = group(calls, { similarityThreshold, minGroupSize: 1 });
  const formed = groups.map((one) => ({ ...one, key: `${one.members[0]?.call.questionId}:${one.key}` }));
  return { formed, kept: formed.filter(({ members }) => members.length >= minGroupSize) };
}
