/**
 * Deterministic random numbers. One seed names a run; every use draws from its own named stream, so that adding a draw in
 * one place never shifts another. Same seed and names, same numbers, on every machine.
 */

/** 32-bit FNV-1a of a string with a final avalanche (murmur3's), as an unsigned integer. */
export function hash32(text: string): number {
  let hash = 2166136261;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    hash = Math.imul(hash ^ (unit & 255), 16777619);
    hash = Math.imul(hash ^ (unit >>> 8), 16777619);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** A stream's seed: a 32-bit number from the run's seed and the stream's name, e.g. `deriveSeed(1, "rollout", step, index)`. */
export function deriveSeed(seed: number, ...name: readonly (string | number)[]): number {
  return hash32(`${seed}\u0000${name.join("\u0000")}`);
}

/** A mulberry32 stream. Its whole state is one 32-bit integer, so that a checkpoint can hold it. */
export class Rng {
  constructor(public state: number) {}

  /** The stream `name` of the run `seed`. */
  static stream(seed: number, ...name: readonly (string | number)[]): Rng {
    return new Rng(deriveSeed(seed, ...name));
  }

  /** Uniform in [0, 1). */
  uniform(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  }

  /** Uniform integer in [0, count). */
  integer(count: number): number {
    return Math.floor(this.uniform() * count);
  }

  /** Standard normal (Box-Muller). */
  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.uniform())) * Math.cos(2 * Math.PI * this.uniform());
  }

  /** One item of a non-empty list. */
  pick<Item>(items: readonly Item[]): Item {
    return items[this.integer(items.length)] as Item;
  }

  /** A shuffled copy (Fisher-Yates). */
  shuffle<Item>(items: readonly Item[]): Item[] {
    const copy = items.slice();
    for (let index = copy.length - 1; index > 0; index--) {
      const other = this.integer(index + 1);
      [copy[index], copy[other]] = [copy[other] as Item, copy[index] as Item];
    }
    return copy;
  }
}
