/** Greedy rollouts over held-out questions, through the same rollout and search functions as training. */
import { type GreedyRolloutsRequest, greedyRollouts } from "../agent/greedy-rollouts.ts";
import { type QuestionRecord, questionRecord, type Scoring } from "./record.ts";

/** What is asked of whom, and how it is scored. */
export interface EvaluationRequest extends GreedyRolloutsRequest {
  readonly scoring: Scoring;
}

/**
 * One record a question, in the order of the questions.
 * @throws InfrastructureError when a service failed: a score over fewer questions would not compare.
 */
export async function evaluate({ scoring, ...request }: EvaluationRequest): Promise<QuestionRecord[]> {
  return greedyRollouts(request, (question, trajectory) => questionRecord(question, trajectory, scoring));
}
