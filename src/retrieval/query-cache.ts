import type { Candidate } from "../types.ts";

/** Passages of a result that counts as one. A longer result counts for more: memory stays bounded however many passages are asked for. */
const passagesPerResult = 50;

/** Results of earlier queries, the least recently used dropped first. Agents of one group ask the same things over and over. */
export class QueryCache {
  private readonly results = new Map<string, readonly Candidate[]>();
  private size = 0;

  /** @param capacity how many results, of up to 50 passages each, are kept; 0: none. */
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
    const key = `${topK} ${query}`;
    this.delete(key);
    if (sizeOf(candidates) > this.capacity) return;
    this.results.set(key, candidates);
    this.size += sizeOf(candidates);
    for (const oldest of this.results.keys()) {
      if (this.size <= this.capacity) return;
      this.delete(oldest);
    }
  }

  private delete(key: string): void {
    const known = this.results.get(key);
    if (known === undefined) return;
    this.results.delete(key);
    this.size -= sizeOf(known);
  }
}

function sizeOf(candidates: readonly Candidate[]): number {
  return Math.max(1, Math.ceil(candidates.length / passagesPerResult));
}
