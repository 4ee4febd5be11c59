/** Greedy rollouts on dev questions, which select the checkpoint. */
import type { AgentProtocol } from "../agent/protocol.ts";
import { rollout } from "../agent/rollout.ts";
import { searchSteps } from "../agent/trajectory.ts";
import type { Config } from "../config.ts";
import type { Sampler } from "../engine/engine.ts";
import { InfrastructureError } from "../errors.ts";
import type { Search } from "../retrieval/search.ts";
import { exactMatch } from "../text.ts";
import type { Question } from "../types.ts";
import type { DevScores } from "./checkpoint.ts";
import { scoreTrajectory, type TrajectoryOutcome } from "./scoring.ts";

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
export async function evaluateDev({ config, protocol, sampler, search, questions, signal }: DevEvaluation): Promise<DevScores> {
  const outcomes: TrajectoryOutcome[] = [];
  for (let start = 0; start < questions.length; start += config.evaluation.batchQuestions) {
    const batch = questions.slice(start, start + config.evaluation.batchQuestions);
    const rolled = batch.map(async (question) => {
      const trajectory = await rollout({
        question,
        index: 0,
        protocol,
        sampler,
        search,
        limits: config.agent,
        temperature: 0,
        topP: 1,
        seed: (turn) => turn,
        signal,
      });
      if (trajectory.stopReason === "infra_error") throw new InfrastructureError(`dev question ${question.id}: ${trajectory.error}`);
      return scoreTrajectory(question, trajectory, config);
    });
    outcomes.push(...(await Promise.all(rolled)));
  }
  const mean = (value: (outcome: TrajectoryOutcome) => number) =>
    outcomes.reduce((sum, outcome) => sum + value(outcome), 0) / outcomes.length;
  return {
    questions: outcomes.length,
    f1: mean(({ reward }) => (reward.formatValid ? reward.answerF1 : 0)),
    em: mean(({ question, trajectory, reward }) =>
      reward.formatValid && trajectory.answer !== undefined
        ? exactMatch(trajectory.answer, question.goldAnswers, config.data.answerProfile)
        : 0,
    ),
    searches: mean(({ trajectory }) => searchSteps(trajectory).length),
    formatValidity: mean(({ reward }) => Number(reward.formatValid)),
  };
}
