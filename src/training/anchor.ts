import type { TokenGrammar, TrainingExample } from "../engine/engine.ts";
import { trajectoryExample } from "../grpo/examples.ts";
import type { Group } from "../types.ts";
import type { TrajectoryOutcome } from "./scoring.ts";

/**
 * The supervised anchor (ours, not the paper's): cross-entropy on the best trajectory of each group, so that a small model keeps its manners.
 * Only well-formed ones with a reward above 0 qualify, the first of the best is taken. Their token weights sum to `weight`.
 */
export function anchorExamples(
  groups: readonly Group<TrajectoryOutcome>[],
  weight: number,
  grammar: TokenGrammar | undefined,
): TrainingExample[] {
  if (weight === 0) return [];
  const best = groups.flatMap(({ key, members }) => {
    const good = members.filter(({ reward }) => reward.formatValid && reward.total > 0);
    const top = good.find(({ reward }) => reward.total === Math.max(...good.map((other) => other.reward.total)));
    return top ? [trajectoryExample(top.trajectory, { advantage: 1, groupKey: key, grammar })] : [];
  });
  const tokens = best.reduce((sum, { mask }) => sum + mask.filter((one) => one === 1).length, 0);
  return best.map((example) => ({ ...example, weights: example.mask.map((one) => (one * weight) / tokens) }));
}
