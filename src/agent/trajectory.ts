/** Questions one asks of a finished trajectory. */
import type { SearchStep, Trajectory } from "../types.ts";

/**
 * Eq. 4's format condition: every turn that the agent wrote was well formed. A trajectory that ran out of searches, or whose context filled
 * up between two turns, obeyed the format and merely has no answer (F1 0); a turn cut by its token budget is malformed.
 */
export function isFormatValid(trajectory: Trajectory): boolean {
  return trajectory.turns.every(({ action }) => action.kind !== "malformed");
}

/** The searches that were carried out, in order. */
export function searchSteps(trajectory: Trajectory): SearchStep[] {
  return trajectory.turns.flatMap(({ search }) => (search ? [search] : []));
}

/** Tokens that the agent itself wrote (observations not counted). */
export function responseTokens(trajectory: Trajectory): number {
  return trajectory.turns.reduce((sum, { output }) => sum + output.tokenIds.length, 0);
}
