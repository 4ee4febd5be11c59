/** The learning half of byte-pair encoding: from word counts to merges. */

/** What learning starts from, and where it stops. */
export interface MergeOptions {
  /** The symbols every word is made of; they get the ids firstId, firstId + 1, ... */
  readonly alphabet: readonly string[];
  readonly firstId: number;
  /** Learning stops at this many entries (ids below firstId included). */
  readonly vocabularySize: number;
  readonly minPairCount: number;
  /** A word counts at most this often. */
  readonly maxWordCount: number;
  /** Strings that no merge may spell. */
  readonly forbidden: ReadonlySet<string>;
}

/** A learnt vocabulary and its merges. */
export interface LearnedMerges {
  /** Alphabet and merge products in id order, the first has id firstId. */
  readonly symbols: readonly string[];
  /** In the order in which they apply. */
  readonly merges: readonly (readonly [string, string])[];
}

interface Word {
  /** Indices into `symbols`. */
  parts: number[];
  readonly count: number;
}

interface Pair {
  readonly left: number;
  readonly right: number;
  count: number;
  readonly words: Set<number>;
}

/**
 * Merges the most frequent pair of neighbours until the vocabulary is full or no pair is frequent enough; among equally
 * frequent pairs the one with the smaller (left, right) symbols goes first. Pair counts are kept up to date: only words
 * that contain the merged pair are visited.
 */
export function learnMerges(wordCounts: ReadonlyMap<string, number>, options: MergeOptions): LearnedMerges {
  const symbols = options.alphabet.slice();
  const indexOf = new Map(symbols.map((symbol, index) => [symbol, index]));
  // Sorted, so that the order in which texts were read can't matter.
  const words: Word[] = [...wordCounts]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([word, count]) => ({
      parts: [...word].map((symbol) => indexOf.get(symbol) as number),
      count: Math.min(count, options.maxWordCount),
    }));
  const pairs = new PairTable();
  words.forEach((word, index) => {
    pairs.addWord(word, index, 1);
  });

  const merges: [string, string][] = [];
  while (options.firstId + symbols.length < options.vocabularySize) {
    const pair = pairs.best(options.minPairCount);
    if (pair === undefined) break;
    const left = symbols[pair.left] as string;
    const right = symbols[pair.right] as string;
    if (options.forbidden.has(left + right)) {
      pairs.ban(pair);
      continue;
    }
    merges.push([left, right]);
    let merged = indexOf.get(left + right);
    if (merged === undefined) {
      merged = symbols.length;
      symbols.push(left + right);
      indexOf.set(left + right, merged);
    }
    for (const index of [...pair.words]) {
      const word = words[index] as Word;
      pairs.addWord(word, index, -1);
      word.parts = mergeParts(word.parts, pair.left, pair.right, merged);
      pairs.addWord(word, index, 1);
    }
  }
  return { symbols, merges };
}

function mergeParts(parts: readonly number[], left: number, right: number, merged: number): number[] {
  const result: number[] = [];
  for (let index = 0; index < parts.length; index++) {
    if (parts[index] === left && parts[index + 1] === right) {
      result.push(merged);
      index++;
    } else {
      result.push(parts[index] as number);
    }
  }
  return result;
}

const symbolLimit = 2 ** 20;

/** Counts of neighbouring symbols over all words. */
class PairTable {
  private readonly pairs = new Map<number, Pair>();
  private readonly banned = new Set<number>();

  addWord(word: Word, wordIndex: number, sign: 1 | -1): void {
    for (let index = 0; index + 1 < word.parts.length; index++) {
      const left = word.parts[index] as number;
      const right = word.parts[index + 1] as number;
      const key = left * symbolLimit + right;
      let pair = this.pairs.get(key);
      if (pair === undefined) {
        if (this.banned.has(key)) continue;
        pair = { left, right, count: 0, words: new Set() };
        this.pairs.set(key, pair);
      }
      pair.count += sign * word.count;
      if (sign === 1) pair.words.add(wordIndex);
      else pair.words.delete(wordIndex);
      if (pair.count === 0) this.pairs.delete(key);
    }
  }

  best(minCount: number): Pair | undefined {
    let best: Pair | undefined;
    for (const pair of this.pairs.values()) {
      if (pair.count < minCount) continue;
      if (best === undefined || pair.count > best.count || (pair.count === best.count && before(pair, best))) best = pair;
    }
    return best;
  }

  ban(pair: Pair): void {
    const key = pair.left * symbolLimit + pair.right;
    this.pairs.delete(key);
    this.banned.add(key);
  }
}

function before(pair: Pair, other: Pair): boolean {
  return pair.left < other.left || (pair.left === other.left && pair.right < other.right);
}
