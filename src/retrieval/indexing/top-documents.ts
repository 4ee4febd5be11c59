import { hash32 } from "../../rng.ts";
import type { Candidate, Document } from "../../types.ts";

/** Breaks ties between equal scores: a hash of the id, so that neither file order nor alphabet favours a document. */
export function tieBreakers(documents: readonly Document[]): Uint32Array {
  return Uint32Array.from(documents, (document) => hash32(document.id));
}

/**
 * The `topK` best documents by score, best first, ranks from 1. Documents that score equally are ordered by `ties`
 * (then by position). Fewer come back only when there are fewer documents.
 */
export function topDocuments(documents: readonly Document[], scores: ArrayLike<number>, ties: Uint32Array, topK: number): Candidate[] {
  const best: number[] = [];
  const before = (left: number, right: number): boolean => {
    const difference = (scores[left] as number) - (scores[right] as number);
    if (difference !== 0) return difference > 0;
    const tie = (ties[left] as number) - (ties[right] as number);
    return tie === 0 ? left < right : tie < 0;
  };
  for (let index = 0; index < documents.length; index++) {
    if (best.length === topK && !before(index, best[topK - 1] as number)) continue;
    let place = Math.min(best.length, topK - 1);
    while (place > 0 && before(index, best[place - 1] as number)) {
      best[place] = best[place - 1] as number;
      place--;
    }
    best[place] = index;
  }
  return best.map((index, position) => ({ document: documents[index] as Document, score: scores[index] as number, rank: position + 1 }));
}
