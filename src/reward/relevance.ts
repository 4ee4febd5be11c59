/**
 * r_rel (Section 3.4): the mean of Hit@k over the cutoffs, 0..1. `hits[i]` tells whether the document that the ranker put at
 * rank i + 1 is pseudo-relevant. A list shorter than a cutoff is judged by what it holds.
 * @throws RangeError when there is no cutoff, or one that is not a positive integer.
 */
export function relevanceReward(hits: readonly boolean[], cutoffs: readonly number[] = [1, 3, 5]): number {
  requireSomeCutoff(cutoffs);
  for (const cutoff of cutoffs) requireCutoff(cutoff);
  const firstHit = hits.indexOf(true);
  if (firstHit < 0) return 0;
  return cutoffs.filter((cutoff) => firstHit < cutoff).length / cutoffs.length;
}

/**
 * nDCG@cutoff with binary gains and discount log2(rank + 1) (the ablation's r_rel, Table 3), 0..1. The ideal list holds
 * min(relevantInPool, cutoff) documents, where `relevantInPool` counts the pseudo-relevant candidates; 0 when there is none.
 * @throws RangeError when the cutoff is not a positive integer.
 */
export function ndcg(hits: readonly boolean[], relevantInPool: number, cutoff: number): number {
  requireCutoff(cutoff);
  const discount = (index: number) => 1 / Math.log2(index + 2);
  let gain = 0;
  for (const [index, hit] of hits.slice(0, cutoff).entries()) if (hit) gain += discount(index);
  let ideal = 0;
  for (let index = 0; index < Math.min(relevantInPool, cutoff); index++) ideal += discount(index);
  return ideal === 0 ? 0 : gain / ideal;
}

/**
 * r_rel as configured: the mean of Hit@k over the cutoffs or, in the ablation (Table 3), of nDCG@k. `relevantInPool` as in {@link ndcg}.
 * @throws RangeError when there is no cutoff, or one that is not a positive integer.
 */
export function configuredRelevance(
  hits: readonly boolean[],
  relevantInPool: number,
  { relevance, cutoffs }: { readonly relevance: "hit" | "ndcg"; readonly cutoffs: readonly number[] },
): number {
  if (relevance === "hit") return relevanceReward(hits, cutoffs);
  requireSomeCutoff(cutoffs);
  return cutoffs.reduce((sum, cutoff) => sum + ndcg(hits, relevantInPool, cutoff), 0) / cutoffs.length;
}

function requireSomeCutoff(cutoffs: readonly number[]): void {
  if (cutoffs.length === 0) throw new RangeError("cutoffs is an empty list: give at least one k, e.g. [1, 3, 5]");
}

function requireCutoff(cutoff: number): void {
  if (!Number.isInteger(cutoff) || cutoff < 1) throw new RangeError(`cutoff must be an integer of at least 1, got ${cutoff}`);
}
