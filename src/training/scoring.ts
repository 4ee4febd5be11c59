/** From rollouts to rewards: Eq. 4 for trajectories, Eq. 6 for their ranker calls. */
import { isFormatValid, searchSteps } from "../agent/trajectory.ts";
import type { Config } from "../config.ts";
import { questionGroups, semanticGroups } from "../grouping/semantic-groups.ts";
import { relevanceLabels } from "../ranker/relevance-labels.ts";
import { type MainReward, mainReward } from "../reward/main-reward.ts";
import { type RankerReward, rankerReward } from "../reward/ranker-reward.ts";
import { ndcg, relevanceReward } from "../reward/relevance.ts";
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
  /** I_ans. */
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

/** What every search of a trajectory showed the agent. */
export function shownSteps({ question, trajectory }: Pick<TrajectoryOutcome, "question" | "trajectory">): ShownStep[] {
  return searchSteps(trajectory).map((step) => {
    const labels = relevanceLabels(
      step.candidates.map(({ document }) => document),
      question.goldAnswers,
    );
    return { step, answerInCandidates: labels.includes(true), hits: relevanceLabels(step.observation, question.goldAnswers) };
  });
}

/**
 * Eq. 6 for every ranker call of a trajectory. Calls of trajectories whose own format failed are left out (the paper), or score 0
 * (`training.excludeFormatFailures: false`, the published code).
 */
export function scoreRankerCalls(outcome: TrajectoryOutcome, config: Config): RankerCallOutcome[] {
  const { formatValid, answerF1 } = outcome.reward;
  if (!formatValid && config.training.excludeFormatFailures) return [];
  const { formatPenalty, relevanceThreshold, preset, terms } = config.reward;
  return shownSteps(outcome).flatMap(({ step, answerInCandidates, hits }) => {
    const call = step.rankerCall;
    if (!call) return [];
    const relevance = answerInCandidates ? relevanceOf(outcome.question, step, hits, config.reward) : 0;
    const facts = { formatValid: call.ranking.kind === "ranked", answerInCandidates, relevance, main: answerF1 };
    const reward: RankerReward = formatValid
      ? rankerReward(facts, { formatPenalty, preset, terms, ...(relevanceThreshold === undefined ? {} : { relevanceThreshold }) })
      : { total: 0, rule: "main", relevanceTerm: 0, mainTerm: 0 };
    return [{ query: call.query, answerInCandidates, call, hits, relevance, reward }];
  });
}

/** r_rel: the mean over the cutoffs of Hit@k, or (ablation) of nDCG@k. */
function relevanceOf(question: Question, step: SearchStep, hits: readonly boolean[], { relevance, cutoffs }: Config["reward"]): number {
  if (relevance === "hit") return relevanceReward(hits, cutoffs);
  const documents = step.candidates.map(({ document }) => document);
  const inPool = relevanceLabels(documents, question.goldAnswers).filter(Boolean).length;
  return cutoffs.reduce((sum, cutoff) => sum + ndcg(hits, inPool, cutoff), 0) / cutoffs.length;
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
