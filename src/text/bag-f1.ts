/**
 * Harmonic mean of precision and recall of two bags of words (words count with repetition), 0..1. Computed as
 * 2·common / (|a| + |b|), one correctly rounded division, so that 12/15 reaches a threshold of 0.8 exactly (Eq. 5).
 * Two empty bags give 0: what emptiness means is for the caller to say.
 */
export function bagF1(first: readonly string[], second: readonly string[]): number {
  const left = new Map<string, number>();
  for (const word of first) left.set(word, (left.get(word) ?? 0) + 1);
  let common = 0;
  for (const word of second) {
    const remaining = left.get(word) ?? 0;
    if (remaining === 0) continue;
    left.set(word, remaining - 1);
    common += 1;
  }
  return common === 0 ? 0 : (2 * common) / (first.length + second.length);
}
