import type { Sampler } from "../engine/engine.ts";
import { InfrastructureError } from "../errors.ts";
import type { Search } from "../retrieval/search.ts";
import type { Question, Trajectory } from "../types.ts";
import type { AgentProtocol } from "./protocol.ts";
import { type RolloutLimits, rollout } from "./rollout.ts";

/** Whom to ask what, and with how much room. */
export interface GreedyRolloutsRequest {
  readonly questions: readonly Question[];
  readonly protocol: AgentProtocol;
  readonly sampler: Sampler;
  /** The system under evaluation. */
  readonly search: Search;
  readonly limits: RolloutLimits;
  /** Questions rolled out at once. */
  readonly batchQuestions: number;
  /** Questions done so far, after every batch. */
  readonly onProgress?: (done: number, total: number) => void;
  readonly signal?: AbortSignal;
}

/**
 * One greedy trajectory a question, read by `read`, in the order of the questions: the result depends on the weights alone.
 * @throws InfrastructureError when a service failed: a score over fewer questions would not compare.
 */
export async function greedyRollouts<Outcome>(
  request: GreedyRolloutsRequest,
  read: (question: Question, trajectory: Trajectory) => Outcome,
): Promise<Outcome[]> {
  const { questions, protocol, sampler, search, limits, batchQuestions, signal } = request;
  const outcomes: Outcome[] = [];
  for (let start = 0; start < questions.length; start += batchQuestions) {
    const batch = questions.slice(start, start + batchQuestions).map(async (question) => {
      const seed = (turn: number) => turn;
      const trajectory = await rollout({ question, index: 0, protocol, sampler, search, limits, temperature: 0, topP: 1, seed, signal });
      if (trajectory.stopReason === "infra_error") throw new InfrastructureError(`question ${question.id}: ${trajectory.error}`);
      return read(question, trajectory);
    });
    outcomes.push(...(await Promise.all(batch)));
    request.onProgress?.(outcomes.length, questions.length);
  }
  return outcomes;
}
