import type { Candidate, Document } from "../../types.ts";
import type { Hit } from "./vector-index.ts";

/**
 * Reciprocal rank fusion (Cormack et al. 2009): a row's score is the sum of 1 / (constant + rank) over the lists that hold it, ranks from 1.
 * @param lists results of several indexes for one query, each best first.
 * @param constant 60 in the paper; the larger, the less the first ranks stand out.
 * @returns at most `topK` rows, best first, equal scores in row order.
 */
export function reciprocalRankFusion(lists: readonly (readonly Hit[])[], constant: number, topK: number): Hit[] {
  const scores = new Map<number, number>();
  for (const list of lists) {
    list.forEach(({ row }, index) => {
      scores.set(row, (scores.get(row) ?? 0) + 1 / (constant + index + 1));
    });
  }
  return [...scores]
    .map(([row, score]) => ({ row, score }))
    .sort((left, right) => right.score - left.score || left.row - right.row)
    .slice(0, topK);
}

/** Fuses candidates found among these documents as `reciprocalRankFusion` does hits. */
export function candidateFusion(
  documents: readonly Document[],
  constant: number,
): (lists: readonly (readonly Candidate[])[], topK: number) => Candidate[] {
  const rowOf = new Map(documents.map((document, row) => [document, row]));
  const hits = (list: readonly Candidate[]) => list.map(({ document, score }) => ({ row: rowOf.get(document) as number, score }));
  return (lists, topK) =>
    reciprocalRankFusion(lists.map(hits), constant, topK).map(({ row, score }, index) => {
      return { document: documents[row] as Document, score, rank: index + 1 };
    });
}
