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
 * A question whose service failed does not stop the others, unless its whole batch failed.
 * @param keep Told every batch as it ends: an outcome a question, or why there is none.
 * @throws InfrastructureError counting the questions that failed: a score over fewer questions would not compare.
 */
export async function greedyRollouts<Outcome>(
  request: GreedyRolloutsRequest,
  read: (question: Question, trajectory: Trajectory) => Outcome,
  keep: (batch: readonly (Outcome | InfrastructureError)[], questions: readonly Question[]) => Promise<void> = async () => {},
): Promise<Outcome[]> {
  const { questions, protocol, sampler, search, limits, batchQuestions, signal } = request;
  const outcomes: Outcome[] = [];
  const failures: InfrastructureError[] = [];
  const ask = async (question: Question) => {
    const seed = (turn: number) => turn;
    const trajectory = await rollout({ question, index: 0, protocol, sampler, search, limits, temperature: 0, topP: 1, seed, signal });
    if (trajectory.stopReason !== "infra_error") return read(question, trajectory);
    return new InfrastructureError(`question ${question.id}: ${trajectory.error}`);
  };
  for (let start = 0; start < questions.length; start += batchQuestions) {
    const asked = questions.slice(start, start + batchQuestions);
    const batch = await Promise.all(asked.map(ask));
    await keep(batch, asked);
    const failed = batch.filter((outcome) => outcome instanceof InfrastructureError);
    failures.push(...failed);
    outcomes.push(...batch.filter((outcome): outcome is Awaited<Outcome> => !(outcome instanceof InfrastructureError)));
    request.onProgress?.(outcomes.length, questions.length);
    if (failed.length === asked.length) break;
  }
  if (failures.length > 0) throw new InfrastructureError(failureText(failures, outcomes.length, questions.length));
  return outcomes;
}

function failureText(failures: readonly InfrastructureError[], answered: number, total: number): string {
  return `${failures.length} of ${total} questions failed, ${answered} were finished; the first failure: ${failures[0]?.message}`;
}
