import { blockPostings } from "./bm25-files.ts";
import type { PostingList } from "./bm25-postings.ts";

/** A distinct word of one query as the search walks along its list. */
export class Bm25Cursor {
  /** Bound of what the word adds to the score of any row of the current window; 0: it has none there. */
  bound = 0;
  /** Postings that the window's blocks hold, about. */
  postings = 0;
  private readonly rows = new Uint32Array(blockPostings);
  private readonly frequencies = new Uint32Array(blockPostings);
  private count = 0;
  /** The block that lies decoded. */
  private decoded = -1;
  /** First block that may hold rows of the current window; rows asked for singly lie in this one or a later one. */
  private first = 0;

  /** @param times how often the query has the word. */
  constructor(
    private readonly list: PostingList,
    private readonly times: number,
  ) {}

  /** The first row from `row` on that the list may hold; Infinity where there is none. Exact where a block begins beyond `row`. */
  nextRow(row: number): number {
    const { lastRows } = this.list;
    this.first = this.list.blockAt(row, this.first);
    if (this.first >= lastRows.length) return Number.POSITIVE_INFINITY;
    return this.first === 0 ? row : Math.max(row, (lastRows[this.first - 1] as number) + 1);
  }

  /** Enters the window of rows `from` up to `to`, without `to`. Windows must rise. */
  enter(from: number, to: number): void {
    const { list } = this;
    this.first = list.blockAt(from, this.first);
    let bound = 0;
    let block = this.first;
    for (; block < list.lastRows.length; block++) {
      if (block > 0 && (list.lastRows[block - 1] as number) + 1 >= to) break;
      bound = Math.max(bound, list.bounds[block] as number);
    }
    this.bound = bound * this.times;
    this.postings = (block - this.first) * blockPostings;
  }

  /** Adds the word's part of the score of every row of the window `from` up to `to`, and marks the rows, one bit each. */
  addTo(scores: Float64Array, touched: Uint32Array, from: number, to: number): void {
    const { list, rows, frequencies, times } = this;
    for (let block = this.first; block < list.lastRows.length; block++) {
      if (block > 0 && (list.lastRows[block - 1] as number) + 1 >= to) break;
      this.load(block);
      for (let index = 0; index < this.count; index++) {
        const row = rows[index] as number;
        if (row < from) continue;
        if (row >= to) break;
        const place = row - from;
        scores[place] = (scores[place] as number) + times * list.score(frequencies[index] as number, row);
        touched[place >>> 5] = (touched[place >>> 5] as number) | (1 << (place & 31));
      }
    }
  }

  /** What one occurrence of the word in the query adds to the score of this row of the window. */
  scoreOf(row: number): number {
    const { list, rows } = this;
    const from = this.decoded >= this.first && (list.lastRows[this.decoded] as number) < row ? this.decoded : this.first;
    const block = list.blockAt(row, from);
    if (block >= list.lastRows.length) return 0;
    this.load(block);
    let [low, high] = [0, this.count - 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((rows[middle] as number) < row) low = middle + 1;
      else high = middle;
    }
    return rows[low] === row ? list.score(this.frequencies[low] as number, row) : 0;
  }

  private load(block: number): void {
    if (this.decoded === block) return;
    this.count = this.list.decode(block, this.rows, this.frequencies);
    this.decoded = block;
  }
}
