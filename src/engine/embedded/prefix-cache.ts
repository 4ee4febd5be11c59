/** Keys and values of finished sequences, for later prompts that begin with the same tokens. */

interface Entry {
  readonly tokenIds: Int32Array;
  /** As `KeyValueCache.export` gives them, for all of tokenIds. */
  readonly exported: Float32Array;
  /** Keys under which the entry is found: its whole length, and its prompt's. */
  readonly keys: readonly number[];
}

/** A cached sequence whose first `length` tokens are those of a prompt. */
export interface PrefixMatch {
  readonly exported: Float32Array;
  /** Tokens that `exported` holds. */
  readonly total: number;
  readonly length: number;
}

/**
 * Remembers sequences up to a number of bytes and forgets those not used for longest. A prompt finds a sequence that it
 * continues (an agent's next turn) or whose prompt it repeats; both by hashes of prefixes, verified token by token.
 */
export class PrefixCache {
  private readonly byKey = new Map<number, Entry>();
  private readonly entries = new Set<Entry>();
  private bytes = 0;

  constructor(private readonly byteLimit: number) {}

  get enabled(): boolean {
    return this.byteLimit > 0;
  }

  /** The longest usable prefix: at least one token of the prompt is left to compute. */
  find(prompt: ArrayLike<number>): PrefixMatch | undefined {
    if (this.entries.size === 0) return undefined;
    let best: Entry | undefined;
    let bestLength = 0;
    let hash = hashStart;
    for (let length = 1; length <= prompt.length; length++) {
      hash = extendHash(hash, prompt[length - 1] as number);
      const entry = this.byKey.get(keyOf(hash, length));
      if (entry === undefined) continue;
      const common = Math.min(commonLength(entry.tokenIds, prompt), prompt.length - 1);
      if (common > bestLength) {
        best = entry;
        bestLength = common;
      }
    }
    if (best === undefined) return undefined;
    this.entries.delete(best);
    this.entries.add(best);
    return { exported: best.exported, total: best.tokenIds.length, length: bestLength };
  }

  /** Remembers a sequence in place of those that it continues; `exportRow` is called only when it is new. */
  add(tokenIds: Int32Array, promptLength: number, exportRow: () => Float32Array): void {
    if (!this.enabled || tokenIds.length === 0) return;
    const keys: number[] = [];
    let hash = hashStart;
    for (let length = 1; length <= tokenIds.length; length++) {
      hash = extendHash(hash, tokenIds[length - 1] as number);
      const key = keyOf(hash, length);
      if (length === promptLength || length === tokenIds.length) keys.push(key);
      const earlier = this.byKey.get(key);
      const continued = earlier?.tokenIds.length === length && length < tokenIds.length;
      if (continued && commonLength(earlier.tokenIds, tokenIds) === length) this.forget(earlier);
    }
    const known = this.byKey.get(keys.at(-1) as number);
    if (known !== undefined && known.tokenIds.length >= tokenIds.length && commonLength(known.tokenIds, tokenIds) === tokenIds.length)
      return;
    const entry = { tokenIds, exported: exportRow(), keys };
    if (sizeOf(entry) > this.byteLimit) return;
    for (const key of keys) this.byKey.set(key, entry);
    this.entries.add(entry);
    this.bytes += sizeOf(entry);
    for (const oldest of this.entries) {
      if (this.bytes <= this.byteLimit) break;
      this.forget(oldest);
    }
  }

  /** Forgets everything: the weights have changed. */
  clear(): void {
    this.byKey.clear();
    this.entries.clear();
    this.bytes = 0;
  }

  private forget(entry: Entry): void {
    for (const key of entry.keys) if (this.byKey.get(key) === entry) this.byKey.delete(key);
    this.entries.delete(entry);
    this.bytes -= sizeOf(entry);
  }
}

const hashStart = 0x811c9dc5;

function extendHash(hash: number, token: number): number {
  const mixed = Math.imul(hash ^ token, 0x85ebca6b);
  return Math.imul(mixed ^ (mixed >>> 15), 0xc2b2ae35);
}

function keyOf(hash: number, length: number): number {
  return (hash >>> 0) * 2 ** 20 + length;
}

function sizeOf(entry: Entry): number {
  return entry.exported.byteLength + entry.tokenIds.byteLength;
}

function commonLength(left: ArrayLike<number>, right: ArrayLike<number>): number {
  const limit = Math.min(left.length, right.length);
  let length = 0;
  while (length < limit && left[length] === right[length]) length++;
  return length;
}
