/** Greedy rollouts on dev questions, which select the checkpoint. */
import { greedyRollouts } from "../agent/greedy-rollouts.ts";
import type { AgentProtocol } from "../agent/protocol.ts";
import { searchSteps } from "../agent/trajectory.ts";
import type { Config } from "../config.ts";
import type { Sampler } from "../engine/engine.ts";
import type { Search } from "../retrieval/search.ts";
import type { Question } from "../types.ts";
import type { DevScores } from "./checkpoint.ts";
import { answerScores, scoreTrajectory } from "./scoring.ts";

/** The system under evaluation and its questions. */
export interface DevEvaluation {
  readonly config: Config;
  readonly protocol: AgentProtocol;
  readonly sampler: Sampler;
  /** The system in its evaluation mode. */
  readonly search: Search;
  readonly questions: readonly Question[];
  readonly signal?: AbortSignal;
}

/** Scores of the published weights. @throws InfrastructureError when a service failed: a score over fewer questions would not compare. */
export async function evaluateDev({ config, ...parts }: DevEvaluation): Promise<DevScores> {
  const outcomes = await greedyRollouts(
    { ...parts, limits: config.agent, batchQuestions: config.evaluation.batchQuestions },
    (question, trajectory) => {
      const outcome = scoreTrajectory(question, trajectory, config);
      const searches = searchSteps(trajectory).length;
      return { ...answerScores(outcome, config), searches, formatValidity: Number(outcome.reward.formatValid) };
    },
  );
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  return {
    questions: outcomes.length,
    f1: mean(outcomes.map(({ f1 }) => f1)),
    em: mean(outcomes.map(({ em }) => em)),
    searches: mean(outcomes.map(({ searches }) => searches)),
    formatValidity: mean(outcomes.map(({ formatValidity }) => formatValidity)),
  };
}
