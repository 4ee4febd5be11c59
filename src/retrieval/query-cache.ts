import type { Candidate } from "../types.ts";

/** Results of earlier queries, the least recently used dropped first. Agents of one group ask the same things over and over. */
export class QueryCache {
  private readonly results = new Map<string, readonly Candidate[]>();

  /** @param capacity how many results are kept; 0: none. */
  constructor(private readonly capacity: number) {}

  get(query: string, topK: number): readonly Candidate[] | undefined {
    const key = `${topK} ${query}`;
    const found = this.results.get(key);
    if (found) {
      this.results.delete(key);
      this.results.set(key, found);
    }
    return found;
  }

  set(query: string, topK: number, candidates: readonly Candidate[]): void {
    this.results.set(`${topK} ${query}`, candidates);
    if (this.results.size > this.capacity) {
      const oldest = this.results.keys().next();
      if (!oldest.done) this.results.delete(oldest.value);
    }
  }
}
