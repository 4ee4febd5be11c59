/** One line of metrics.jsonl: the panels of Figures 2 and 3 and the health of both policies. */
import { responseTokens, searchSteps } from "../agent/trajectory.ts";
import type { Config } from "../config.ts";
import { isConstant } from "../grpo/advantages.ts";
import type { Group, SampledTokens, Trajectory } from "../types.ts";
import type { PhaseClock } from "./phase-clock.ts";
import { answerScores, type RankerCallOutcome, shownSteps, type TrajectoryOutcome } from "./scoring.ts";
import type { PolicyUpdate } from "./update.ts";

/** Flat, every number by name; what a step did not measure is absent. All but `timing` is the same in every run with the same seed. */
export interface StepMetrics {
  /** From 1. */
  readonly step: number;

  // The agent (Figure 3: reward, search turns)
  readonly mainReward?: number;
  readonly answerF1?: number;
  readonly exactMatch?: number;
  /** Searches a question. */
  readonly searches?: number;
  /** Tokens that the agent wrote, a trajectory. */
  readonly responseTokens?: number;
  readonly mainFormatValidity?: number;
  /** Estimated from the sampled tokens, in nats a token; absent when sampling was greedy. */
  readonly mainEntropy?: number;
  readonly mainLoss?: number;
  readonly mainKl?: number;
  readonly mainClipFraction?: number;
  readonly mainGradientNorm?: number;
  readonly mainLogprobGap?: number;
  readonly mainLearningRate: number;
  readonly mainTrainedTokens: number;
  readonly mainGroups: number;
  /** Groups of equal rewards, which teach nothing. */
  readonly mainZeroVarianceGroups: number;

  // What the agent was shown (Figure 3: ranking quality); hit@k where an answer is among the candidates
  readonly answerInCandidates?: number;
  readonly hit1?: number;
  readonly hitK?: number;
  /** Share of trajectories that were ever shown an answer. */
  readonly answerSeen?: number;

  // The ranker, where there is one
  readonly rankerReward?: number;
  readonly rankerRelevance?: number;
  readonly rankerFormatValidity?: number;
  readonly rankerEntropy?: number;
  readonly rankerLoss?: number;
  readonly rankerKl?: number;
  readonly rankerClipFraction?: number;
  readonly rankerGradientNorm?: number;
  readonly rankerLogprobGap?: number;
  readonly rankerLearningRate?: number;
  readonly rankerTrainedTokens?: number;

  // Grouping (Figure 2), before and after dropping groups smaller than k_min
  /** All ranker calls, and those of trajectories fit for ranker training. */
  readonly rankerCalls: number;
  readonly rankerCallsScored: number;
  readonly groupsFormed?: number;
  readonly groupSizeFormed?: number;
  readonly groupsKept?: number;
  readonly groupSizeKept?: number;
  /** Share of the scored calls that are in a kept group. */
  readonly shareKept?: number;
  readonly rankerZeroVarianceGroups?: number;

  // What went wrong
  readonly trajectories: number;
  /** Trajectories left out of training: infrastructure failures. */
  readonly infraFailed: number;
  readonly malformed: number;
  readonly truncated: number;
  readonly searchLimited: number;
  readonly rankerTruncated: number;
  /** Passages shortened so that ranker prompts fit. */
  readonly rankerCutPassages: number;
  /** Scored ranker calls that no kept group holds. */
  readonly rankerCallsDropped: number;

  readonly timing: {
    readonly rolloutSeconds: number;
    /** Within the rollout: time in which any search was under way. */
    readonly rankSeconds: number;
    readonly updateMainSeconds: number;
    readonly updateRankerSeconds: number;
    readonly sampledTokensPerSecond: number;
    readonly trainedTokensPerSecond: number;
  };
}

/** What a step leaves behind for its metrics. */
export interface StepFacts {
  readonly step: number;
  readonly config: Config;
  readonly trajectories: readonly Trajectory[];
  readonly mainGroups: readonly Group<TrajectoryOutcome>[];
  readonly rankerCalls: readonly (readonly RankerCallOutcome[])[];
  readonly grouped: readonly { readonly formed: readonly Group<RankerCallOutcome>[] }[];
  readonly rankerGroups: readonly (readonly Group<RankerCallOutcome>[])[];
  readonly mainUpdate: PolicyUpdate;
  readonly rankerUpdate?: PolicyUpdate;
  readonly clock: PhaseClock<"rollout" | "rank" | "updateMain" | "updateRanker">;
}

/** Boils a step down to its numbers. */
export function stepMetrics(facts: StepFacts): StepMetrics {
  const { config, trajectories, mainUpdate, rankerUpdate, clock } = facts;
  const outcomes = facts.mainGroups.flatMap(({ members }) => members);
  const answers = outcomes.map((outcome) => answerScores(outcome, config));
  const shown = outcomes.map(shownSteps);
  const answerable = shown.flat().filter(({ answerInCandidates }) => answerInCandidates);
  const calls = outcomes.flatMap(({ trajectory }) => searchSteps(trajectory).flatMap(({ rankerCall }) => rankerCall ?? []));
  const scored = facts.rankerCalls.flat();
  const formed = facts.grouped.flatMap((one) => one.formed);
  const kept = facts.rankerGroups.flat();
  const keptCalls = kept.flatMap(({ members }) => members);
  const stopped = (reason: Trajectory["stopReason"]) => trajectories.filter(({ stopReason }) => stopReason === reason).length;
  const rankerSampled = config.system === "cosearch" && config.ranker.temperature > 0;
  const sampledTokens = [...outcomes.flatMap(({ trajectory }) => trajectory.turns), ...calls].reduce(
    (sum, { output }) => sum + output.tokenIds.length,
    0,
  );
  const [rollout, rank, updateMain, updateRanker] = (["rollout", "rank", "updateMain", "updateRanker"] as const).map((phase) =>
    clock.seconds(phase),
  ) as [number, number, number, number];
  const updateSeconds = Math.max(updateMain, updateRanker);
  return {
    step: facts.step,
    mainReward: mean(outcomes.map(({ reward }) => reward.total)),
    answerF1: mean(answers.map(({ f1 }) => f1)),
    exactMatch: mean(answers.map(({ em }) => em)),
    searches: mean(outcomes.map(({ trajectory }) => searchSteps(trajectory).length)),
    responseTokens: mean(outcomes.map(({ trajectory }) => responseTokens(trajectory))),
    mainFormatValidity: mean(outcomes.map(({ reward }) => Number(reward.formatValid))),
    mainEntropy: config.agent.temperature > 0 ? entropyOf(outcomes.flatMap(({ trajectory }) => trajectory.turns)) : undefined,
    mainLoss: mainUpdate.loss,
    mainKl: mainUpdate.kl,
    mainClipFraction: mainUpdate.clipFraction,
    mainGradientNorm: mainUpdate.gradientNorm,
    mainLogprobGap: mainUpdate.logprobGap,
    mainLearningRate: mainUpdate.learningRate,
    mainTrainedTokens: mainUpdate.tokens,
    mainGroups: facts.mainGroups.length,
    mainZeroVarianceGroups: facts.mainGroups.filter(({ members }) => isConstant(members.map(({ reward }) => reward.total))).length,
    answerInCandidates: mean(shown.flat().map((step) => Number(step.answerInCandidates))),
    hit1: mean(answerable.map(({ hits }) => Number(hits[0] === true))),
    hitK: mean(answerable.map(({ hits }) => Number(hits.includes(true)))),
    answerSeen: mean(shown.map((steps) => Number(steps.some(({ hits }) => hits.includes(true))))),
    rankerReward: mean(scored.map(({ reward }) => reward.total)),
    rankerRelevance: mean(scored.filter((call) => call.answerInCandidates).map(({ relevance }) => relevance)),
    rankerFormatValidity: mean(calls.map(({ ranking }) => Number(ranking.kind === "ranked"))),
    rankerEntropy: rankerSampled ? entropyOf(calls) : undefined,
    rankerLoss: rankerUpdate?.loss,
    rankerKl: rankerUpdate?.kl,
    rankerClipFraction: rankerUpdate?.clipFraction,
    rankerGradientNorm: rankerUpdate?.gradientNorm,
    rankerLogprobGap: rankerUpdate?.logprobGap,
    rankerLearningRate: rankerUpdate?.learningRate,
    rankerTrainedTokens: rankerUpdate?.tokens,
    rankerCalls: calls.length,
    rankerCallsScored: scored.length,
    ...(calls.length > 0
      ? {
          groupsFormed: formed.length,
          groupSizeFormed: mean(formed.map(({ members }) => members.length)),
          groupsKept: kept.length,
          groupSizeKept: mean(kept.map(({ members }) => members.length)),
          shareKept: scored.length > 0 ? keptCalls.length / scored.length : undefined,
          rankerZeroVarianceGroups: kept.filter(({ members }) => isConstant(members.map(({ reward }) => reward.total))).length,
        }
      : {}),
    trajectories: trajectories.length,
    infraFailed: stopped("infra_error"),
    malformed: stopped("malformed"),
    truncated: stopped("length"),
    searchLimited: stopped("search_limit"),
    rankerTruncated: calls.filter(({ output }) => output.finishReason === "length").length,
    rankerCutPassages: calls.reduce((sum, { cutPassages = 0 }) => sum + cutPassages, 0),
    rankerCallsDropped: scored.length - keptCalls.length,
    timing: {
      rolloutSeconds: rollout,
      rankSeconds: rank,
      updateMainSeconds: updateMain,
      updateRankerSeconds: updateRanker,
      sampledTokensPerSecond: perSecond(sampledTokens, rollout),
      trainedTokensPerSecond: perSecond(mainUpdate.tokens + (rankerUpdate?.tokens ?? 0), updateSeconds),
    },
  };
}

/** Minus the mean log-probability of sampled tokens: an unbiased estimate of the entropy of the distribution they come from. */
function entropyOf(samples: readonly { readonly output: SampledTokens }[]): number | undefined {
  const estimate = mean(samples.flatMap(({ output }) => output.logprobs));
  return estimate === undefined ? undefined : -estimate;
}

function mean(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length;
}

function perSecond(tokens: number, seconds: number): number {
  return seconds > 0 ? Math.round(tokens / seconds) : 0;
}
