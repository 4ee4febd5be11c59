import type { Hit } from "./vector-index.ts";

/** The best `topK` hits met so far: higher scores first, equal ones in row order. */
export class TopHits {
  private readonly hits: Hit[] = [];

  constructor(readonly topK: number) {}

  /** Later rows must score more than this; minus infinity until there are `topK`. */
  get threshold(): number {
    return this.hits.length < this.topK ? Number.NEGATIVE_INFINITY : (this.hits[this.topK - 1] as Hit).score;
  }

  add(row: number, score: number): void {
    const { hits, topK } = this;
    if (hits.length === topK) {
      if (!precedes(row, score, hits[topK - 1] as Hit)) return;
      hits.pop();
    }
    let [low, high] = [0, hits.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (precedes(row, score, hits[middle] as Hit)) high = middle;
      else low = middle + 1;
    }
    hits.splice(low, 0, { row, score });
  }

  /** Best first. */
  sorted(): Hit[] {
    return this.hits.slice();
  }
}

function precedes(row: number, score: number, hit: Hit): boolean {
  return score > hit.score || (score === hit.score && row < hit.row);
}
