/** Greedy rollouts over held-out questions, through the same rollout and search functions as training. */
import type { AgentProtocol } from "../agent/protocol.ts";
import { type RolloutLimits, rollout } from "../agent/rollout.ts";
import type { Sampler } from "../engine/engine.ts";
import { InfrastructureError } from "../errors.ts";
import type { Search } from "../retrieval/search.ts";
import type { Question } from "../types.ts";
import { type QuestionRecord, questionRecord, type Scoring } from "./record.ts";

export interface EvaluationRequest {
  readonly questions: readonly Question[];
  readonly protocol: AgentProtocol;
  readonly sampler: Sampler;
  /** The system under evaluation: Retrieval Only, Fixed Ranker, CoSearch or Oracle. */
  readonly search: Search;
  readonly limits: RolloutLimits;
  readonly scoring: Scoring;
  /** Questions rolled out at once. */
  readonly batchQuestions: number;
  readonly onProgress?: (done: number, total: number) => void;
  readonly signal?: AbortSignal;
}

/**
 * One record a question, in the order of the questions. Greedy decoding, so that the result depends on the weights alone.
 * @throws InfrastructureError when a service failed: a score over fewer questions would not compare.
 */
export async function evaluate(request: EvaluationRequest): Promise<QuestionRecord[]> {
  const { questions, protocol, sampler, search, limits, signal } = request;
  const records: QuestionRecord[] = [];
  for (let start = 0; start < questions.length; start += request.batchQuestions) {
    const batch = questions.slice(start, start + request.batchQuestions);
    const done = await Promise.all(
      batch.map(async (question) => {
        const trajectory = await rollout({
          question,
          index: 0,
          protocol,
          sampler,
          search,
          limits,
          temperature: 0,
          topP: 1,
          seed: (turn) => turn,
          ...(signal ? { signal } : {}),
        });
        if (trajectory.stopReason === "infra_error") throw new InfrastructureError(`question ${question.id}: ${trajectory.error}`);
        return questionRecord(question, trajectory, request.scoring);
      }),
    );
    records.push(...done);
    request.onProgress?.(records.length, questions.length);
  }
  return records;
}

/** `count` questions evenly spaced over the list, so that every kind of question stays represented; null: all. */
export function evenlySpaced(questions: readonly Question[], count: number | null): Question[] {
  if (count === null || count >= questions.length) return questions.slice();
  return Array.from({ length: count }, (_, index) => questions[Math.floor((index * questions.length) / count)] as Question);
}
