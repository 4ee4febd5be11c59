import type { Candidate, Document } from "../../types.ts";
import { documentText } from "../corpus/corpus.ts";
import { bm25Words } from "../words.ts";
import { tieBreakers, topDocuments } from "./top-documents.ts";

/** The two constants of BM25. */
export interface Bm25Options {
  /** Saturation of the term frequency. Default 0.9. */
  readonly k1?: number;
  /** Strength of the length normalisation, 0 to 1. Default 0.4. */
  readonly b?: number;
}

/**
 * BM25 over title and text (Robertson & Zaragoza 2009): sum over query words of
 * idf * f * (k1 + 1) / (f + k1 * (1 - b + b * length / mean length)), idf = ln(1 + (N - n + 0.5) / (n + 0.5)).
 */
export class Bm25Index {
  private readonly postings = new Map<string, { readonly rows: number[]; readonly counts: number[] }>();
  private readonly lengths: number[] = [];
  private readonly meanLength: number;
  private readonly ties: Uint32Array;
  private readonly k1: number;
  private readonly b: number;

  constructor(
    private readonly documents: readonly Document[],
    { k1 = 0.9, b = 0.4 }: Bm25Options = {},
  ) {
    this.k1 = k1;
    this.b = b;
    documents.forEach((document, row) => {
      const words = bm25Words(documentText(document));
      this.lengths.push(words.length);
      const counts = new Map<string, number>();
      for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
      for (const [word, count] of counts) {
        const posting = this.postings.get(word) ?? { rows: [], counts: [] };
        posting.rows.push(row);
        posting.counts.push(count);
        this.postings.set(word, posting);
      }
    });
    this.meanLength = this.lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, documents.length);
    this.ties = tieBreakers(documents);
  }

  /** Documents that share no word with the query score 0 and fill up the list in tie-break order. */
  search(query: string, topK: number): Candidate[] {
    const scores = new Float64Array(this.documents.length);
    for (const word of bm25Words(query)) {
      const posting = this.postings.get(word);
      if (!posting) continue;
      const holders = posting.rows.length;
      const idf = Math.log(1 + (this.documents.length - holders + 0.5) / (holders + 0.5));
      posting.rows.forEach((row, index) => {
        const count = posting.counts[index] as number;
        const length = 1 - this.b + (this.b * (this.lengths[row] as number)) / this.meanLength;
        scores[row] = (scores[row] as number) + (idf * count * (this.k1 + 1)) / (count + this.k1 * length);
      });
    }
    return topDocuments(this.documents, scores, this.ties, topK);
  }
}
