/** One agent demonstration: a rollout of the run's own code with the teacher in the model's place. */
import { type RolloutLimits, rollout } from "../../agent/rollout.ts";
import { searchSteps } from "../../agent/trajectory.ts";
import { InfrastructureError } from "../../errors.ts";
import type { Rng } from "../../rng.ts";
import { tokenF1 } from "../../text.ts";
import type { Question, SearchStep } from "../../types.ts";
import type { Demonstration } from "../warm-start.ts";
import type { QuestionHints } from "./hints.ts";
import { Teacher, type TeacherTools } from "./teacher.ts";
import { NoDemonstration } from "./turn-text.ts";

/** A demonstration and what its searches found. */
export interface AgentDemonstration extends Demonstration {
  readonly searches: readonly SearchStep[];
}

/** The budgets that a demonstration obeys, as every rollout does. */
export interface DemonstrationLimits extends RolloutLimits {
  /** Longest sequence of the model. */
  readonly contextTokens?: number | undefined;
}

/**
 * Tokens that the teacher wrote weigh 1, prompts and observations 0.
 * @throws NoDemonstration telling why there is none; InfrastructureError when the retriever fails for good.
 */
export async function agentDemonstration(
  question: Question,
  hints: QuestionHints,
  tools: TeacherTools,
  limits: DemonstrationLimits,
  rng: Rng,
): Promise<AgentDemonstration> {
  const teacher = new Teacher(question, hints, tools, rng);
  const trajectory = await rollout({
    question,
    index: 0,
    protocol: tools.protocol,
    sampler: teacher,
    search: teacher.search,
    limits,
    temperature: 1,
    topP: 1,
    seed: (turn) => turn,
  });
  if (trajectory.stopReason === "infra_error") throw new InfrastructureError(trajectory.error ?? "the retriever failed");
  if (trajectory.stopReason === "length") throw new NoDemonstration("longer than its budget");
  if (trajectory.stopReason !== "answered") throw new NoDemonstration("a turn can't be written in the protocol");
  if (tokenF1(trajectory.answer ?? "", question.goldAnswers) < 1) throw new NoDemonstration("the answer can't be written in the protocol");
  const pieces = trajectory.turns.flatMap(({ promptTokenIds, output }) => [
    { ids: promptTokenIds, weight: 0 },
    { ids: output.tokenIds, weight: 1 },
  ]);
  const tokenIds = pieces.flatMap(({ ids }) => ids);
  if (tokenIds.length > (limits.contextTokens ?? Number.POSITIVE_INFINITY)) throw new NoDemonstration("longer than the model's context");
  return { tokenIds, weights: pieces.flatMap(({ ids, weight }) => ids.map(() => weight)), searches: searchSteps(trajectory) };
}
