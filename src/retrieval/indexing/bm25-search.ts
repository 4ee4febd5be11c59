import { setImmediate } from "node:timers/promises";
import type { Bm25Cursor } from "./bm25-cursor.ts";
import { TopHits } from "./top-hits.ts";
import type { Hit } from "./vector-index.ts";

/** Rows scored at once. */
const windowRows = 1 << 14;
/** Sums in another order may differ in their last bits: bounds are taken this much larger, so that no row is lost. */
const slack = 1 + 1e-9;
/** What looking a row up in a list takes, in postings added. */
const lookUpCost = 16;
/** Longest stretch in milliseconds without letting other work run. */
const turnMilliseconds = 10;

/**
 * The `topK` rows with the highest scores, exact, by MaxScore with block bounds (Turtle & Flood 1995; Ding & Suel 2011): window by window, words that
 * together can't lift a row over the worst hit so far are left out; rows that hold some other word are scored in full only when they
 * could still get there.
 * @param query the query's words in order, repetitions included; a word that is in no text is left out.
 */
export async function searchPostings(query: readonly Bm25Cursor[], rows: number, topK: number): Promise<Hit[]> {
  const cursors = [...new Set(query)];
  const scores = new Float64Array(Math.min(rows, windowRows));
  const touched = new Uint32Array(Math.ceil(scores.length / 32));
  const top = new TopHits(topK);
  let turn = performance.now();
  let from = firstRow(cursors, 0);
  while (from < rows) {
    const to = Math.min(rows, from + windowRows);
    for (const cursor of cursors) cursor.enter(from, to);
    const least = top.threshold;
    cursors.sort((left, right) => left.bound - right.bound);
    let [optional, optionalBound] = [0, 0];
    for (const { bound } of cursors) {
      if ((optionalBound + bound) * slack >= least) break;
      optionalBound += bound;
      optional++;
    }
    const add = (cursor: Bm25Cursor) => cursor.bound > 0 && cursor.addTo(scores, touched, from, to);
    cursors.slice(optional).forEach(add);
    if (optional < cursors.length) {
      const left = cursors.slice(0, optional);
      const rest = left.reduce((sum, { postings }) => sum + postings, 0);
      // Long queries leave many rows in doubt: then the other words are cheaper to add as well than to look up row by row.
      const inDoubt = countAbove(scores, touched, least / slack - optionalBound);
      const addsAll = rest > 0 && inDoubt * optional * lookUpCost > rest;
      if (addsAll) left.forEach(add);
      collect(query, from, addsAll ? 0 : optionalBound, scores, touched, top);
    }
    from = firstRow(cursors, to);
    if (performance.now() - turn < turnMilliseconds) continue;
    await setImmediate();
    turn = performance.now();
  }
  return top.sorted();
}

/**
 * A score that `topK` rows are sure to reach: what is known of a row's score only grows when the other words are added. It spares most of the
 * first window's rows from being scored in full.
 */
function sureScore(scores: Float64Array, touched: Uint32Array, topK: number): number {
  const known = new TopHits(topK);
  for (let word = 0; word < touched.length; word++) {
    for (let bits = touched[word] as number; bits !== 0; bits &= bits - 1) {
      const place = word * 32 + 31 - Math.clz32(bits & -bits);
      known.add(place, scores[place] as number);
    }
  }
  return known.threshold / slack;
}

/** How many touched rows have a score of at least `least`. */
function countAbove(scores: Float64Array, touched: Uint32Array, least: number): number {
  let count = 0;
  for (let word = 0; word < touched.length; word++) {
    for (let bits = touched[word] as number; bits !== 0; bits &= bits - 1) {
      const place = word * 32 + 31 - Math.clz32(bits & -bits);
      if ((scores[place] as number) >= least) count++;
    }
  }
  return count;
}

/** Scores the touched rows in full that may be among the best, and clears the window. */
function collect(
  query: readonly Bm25Cursor[],
  from: number,
  optionalBound: number,
  scores: Float64Array,
  touched: Uint32Array,
  top: TopHits,
): void {
  const sure = Number.isFinite(top.threshold) ? top.threshold : sureScore(scores, touched, top.topK);
  for (let word = 0; word < touched.length; word++) {
    let bits = touched[word] as number;
    touched[word] = 0;
    while (bits !== 0) {
      const place = word * 32 + 31 - Math.clz32(bits & -bits);
      bits &= bits - 1;
      const most = ((scores[place] as number) + optionalBound) * slack;
      scores[place] = 0;
      if (most < sure || most < top.threshold) continue;
      const row = from + place;
      // In the query's order, repetitions one by one: the very sum that an index in memory makes.
      let score = 0;
      for (const cursor of query) score += cursor.scoreOf(row);
      top.add(row, score);
    }
  }
}

function firstRow(cursors: readonly Bm25Cursor[], row: number): number {
  let first = Number.POSITIVE_INFINITY;
  for (const cursor of cursors) first = Math.min(first, cursor.nextRow(row));
  return first;
}
