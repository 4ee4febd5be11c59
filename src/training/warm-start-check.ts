/** What a warm start is for: do agent and ranker keep their formats on held-out questions? */
import { agentProtocolFor } from "../agent/agent-protocol.ts";
import { greedyRollouts } from "../agent/greedy-rollouts.ts";
import { searchSteps } from "../agent/trajectory.ts";
import type { Config } from "../config.ts";
import { createSearch, rankerProtocolFor } from "../ranker/systems.ts";
import { batchedRetriever } from "../retrieval/batched-retriever.ts";
import type { Question } from "../types.ts";
import { answerScores, scoreTrajectory } from "./scoring.ts";
import type { Wiring } from "./wiring.ts";

/** Greedy scores, each 0..1 but for `searches` (a question). */
export interface WarmStartScores {
  readonly questions: number;
  readonly formatValidity: number;
  readonly f1: number;
  readonly searches: number;
  /** Share of the ranker's outputs that are well formed; absent where it was never called. */
  readonly rankerValidity?: number;
}

/** Scores of the published weights. @throws InfrastructureError when a service failed. */
export async function checkWarmStart(
  config: Config,
  { main, ranker, retriever }: Pick<Wiring, "main" | "ranker" | "retriever">,
  questions: readonly Question[],
  signal?: AbortSignal,
): Promise<WarmStartScores> {
  const rankerPart = ranker && { sampler: ranker.engine, protocol: rankerProtocolFor(config, ranker.renderer, ranker.contextTokens) };
  const search = createSearch(
    config,
    { retriever: batchedRetriever(retriever), ...(rankerPart ? { ranker: rankerPart } : {}) },
    "evaluation",
  );
  const outcomes = await greedyRollouts(
    {
      questions,
      protocol: agentProtocolFor(config, main.renderer),
      sampler: main.engine,
      search,
      limits: config.agent,
      batchQuestions: config.evaluation.batchQuestions,
      ...(signal ? { signal } : {}),
    },
    (question, trajectory) => {
      const outcome = scoreTrajectory(question, trajectory, config);
      const steps = searchSteps(trajectory);
      return {
        ...answerScores(outcome, config),
        valid: Number(outcome.reward.formatValid),
        searches: steps.length,
        rankings: steps.flatMap(({ rankerCall }) => (rankerCall ? [Number(rankerCall.ranking.kind === "ranked")] : [])),
      };
    },
  );
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const rankings = outcomes.flatMap((outcome) => outcome.rankings);
  return {
    questions: outcomes.length,
    formatValidity: mean(outcomes.map(({ valid }) => valid)),
    f1: mean(outcomes.map(({ f1 }) => f1)),
    searches: mean(outcomes.map(({ searches }) => searches)),
    ...(rankings.length > 0 ? { rankerValidity: mean(rankings) } : {}),
  };
}
