/**
 * Group-normalised advantages (Eq. 3): (r − mean) / (sample standard deviation + 1e-6), in the order of the rewards.
 * A constant group, and a group of one, gives zeros. They sum to 0, and |A| <= (n − 1) / sqrt(n).
 * @throws RangeError when a reward is not a finite number.
 */
export function groupAdvantages(rewards: readonly number[]): number[] {
  for (const [index, reward] of rewards.entries()) {
    if (!Number.isFinite(reward)) throw new RangeError(`rewards[${index}] must be a finite number, got ${reward}`);
  }
  if (isConstant(rewards)) return rewards.map(() => 0);
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  const squares = rewards.reduce((sum, reward) => sum + (reward - mean) ** 2, 0);
  const deviation = Math.sqrt(squares / (rewards.length - 1));
  return rewards.map((reward) => (reward - mean) / (deviation + 1e-6));
}

/** Whether all rewards are equal: a group that teaches nothing. True for groups of none and one. */
export function isConstant(rewards: readonly number[]): boolean {
  return rewards.every((reward) => reward === rewards[0]);
}
