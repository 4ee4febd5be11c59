/** Greedy rollouts over held-out questions, through the same rollout and search functions as training. */
import { type GreedyRolloutsRequest, greedyRollouts } from "../agent/greedy-rollouts.ts";
import type { Question } from "../types.ts";
import { type QuestionRecord, questionRecord, type Scoring } from "./record.ts";

/** What is asked of whom, and how it is scored. */
export interface EvaluationRequest extends GreedyRolloutsRequest {
  readonly scoring: Scoring;
  /** Records by question id of an earlier attempt under the same weights and settings: these questions are not asked again. */
  readonly known?: ReadonlyMap<string, QuestionRecord>;
  /** Told every batch as it ends. */
  readonly keep?: (batch: readonly EvaluatedQuestion[]) => Promise<void>;
}

/** A question's record, or why it has none. */
export type EvaluatedQuestion = { readonly record: QuestionRecord } | { readonly questionId: string; readonly error: string };

/**
 * One record a question, in the order of the questions.
 * @throws InfrastructureError when a service failed, after the other questions were asked: a score over fewer questions would not compare.
 */
export async function evaluate({ scoring, known = new Map(), keep, ...request }: EvaluationRequest): Promise<QuestionRecord[]> {
  const earlier = (question: Question) => {
    const record = known.get(question.id);
    return record?.question === question.question ? record : undefined;
  };
  const open = request.questions.filter((question) => earlier(question) === undefined);
  const asked = await greedyRollouts(
    { ...request, questions: open },
    (question, trajectory) => questionRecord(question, trajectory, scoring),
    async (batch, questions) => {
      await keep?.(
        batch.map((outcome, index) =>
          outcome instanceof Error ? { questionId: (questions[index] as Question).id, error: outcome.message } : { record: outcome },
        ),
      );
    },
  );
  const next = asked.values();
  return request.questions.map((question) => earlier(question) ?? (next.next().value as QuestionRecord));
}
