/**
 * Groups sequences of like length: the indices of each pass, longest passes first, so that a pass too large for the memory fails at once.
 * A pass holds at most `mostTokens`, padding included, or one sequence.
 * @param lengths Tokens of each sequence.
 */
export function encoderBatches(lengths: ArrayLike<number>, mostTokens: number): number[][] {
  const order = Array.from(lengths, (_, index) => index).sort(
    (left, right) => (lengths[right] as number) - (lengths[left] as number) || left - right,
  );
  const batches: number[][] = [];
  for (let next = 0; next < order.length; ) {
    const longest = Math.max(1, lengths[order[next] as number] as number);
    const count = Math.max(1, Math.floor(mostTokens / longest));
    batches.push(order.slice(next, next + count));
    next += count;
  }
  return batches;
}
