import type { Hit } from "./vector-index.ts";

/** The best `topK` of hits that come in row order: equal scores stay in that order. */
export class TopHits {
  private readonly hits: Hit[] = [];

  constructor(readonly topK: number) {}

  /** Scores up to this one, itself included, no longer get in; minus infinity until there are `topK`. */
  get threshold(): number {
    return this.hits.length < this.topK ? Number.NEGATIVE_INFINITY : (this.hits[this.topK - 1] as Hit).score;
  }

  add(row: number, score: number): void {
    const { hits, topK } = this;
    if (hits.length === topK && score <= this.threshold) return;
    if (hits.length === topK) hits.pop();
    let [low, high] = [0, hits.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((hits[middle] as Hit).score >= score) low = middle + 1;
      else high = middle;
    }
    hits.splice(low, 0, { row, score });
  }

  /** Best first. */
  sorted(): Hit[] {
    return this.hits.slice();
  }
}
