/** Fictitious names spliced into demonstrations: what the model can't know by heart it has to copy. */
import type { Rng } from "../../src/rng.ts";

/** A name and what it is replaced by. */
export type Substitution = readonly [from: string, to: string];

/** Invents names that look like the world's own, from pieces of its words. */
export class NameForge {
  private readonly words: readonly string[];

  /** @param names every entity and value of the world */
  constructor(names: Iterable<string>) {
    const words = new Set<string>();
    for (const name of names) for (const word of name.split(" ")) if (/^[A-Za-z]{3,}$/.test(word)) words.add(word.toLowerCase());
    this.words = [...words].sort();
  }

  private word(rng: Rng): string {
    const head = rng.pick(this.words);
    const tail = rng.pick(this.words);
    return head.slice(0, 1 + rng.integer(Math.max(1, head.length - 1))) + tail.slice(1 + rng.integer(Math.max(1, tail.length - 2)));
  }

  /** One to three words, mostly invented, sometimes real ones in a new combination. */
  name(rng: Rng): string {
    const count = 1 + (rng.uniform() < 0.4 ? 1 : 0) + (rng.uniform() < 0.15 ? 1 : 0);
    return Array.from({ length: count }, () => (rng.uniform() < 0.25 ? rng.pick(this.words) : this.word(rng))).join(" ");
  }

  /** A replacement of the same kind: an internet domain stays one. */
  like(value: string, rng: Rng): string {
    if (!value.startsWith(".")) return this.name(rng);
    return `.${String.fromCharCode(97 + rng.integer(26), 97 + rng.integer(26))}`;
  }
}

const escapeForPattern = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Replaces whole words only, longest names first. */
export function splice(text: string, substitutions: readonly Substitution[]): string {
  let result = text;
  for (const [from, to] of substitutions) {
    result = result.replace(new RegExp(`(?<![A-Za-z0-9'])${escapeForPattern(from)}(?![A-Za-z0-9'])`, "g"), () => to);
  }
  return result;
}
