import { describe, expect, it } from "vitest";
import { PrefixCache } from "./prefix-cache.ts";

const tokens = (...ids: number[]) => Int32Array.from(ids);
const exported = (mark: number) => new Float32Array(25).fill(mark);
/** Bytes of an entry of five tokens. */
const entryBytes = 25 * 4 + 5 * 4;

describe("PrefixCache", () => {
  it("finds the sequence that a prompt continues, leaving a token to compute", () => {
    const cache = new PrefixCache(10_000);
    cache.add(tokens(1, 2, 3, 4, 5), 3, () => exported(1));
    expect(cache.find([1, 2, 3, 4, 5, 6, 7])).toMatchObject({ length: 5, total: 5 });
    expect(cache.find([1, 2, 3, 4, 5])).toMatchObject({ length: 4, total: 5 });
    expect(cache.find([1, 2, 3])).toMatchObject({ length: 2 });
    expect(cache.find([1, 2, 3, 9, 9])).toMatchObject({ length: 3 });
    expect(cache.find([1, 2, 9])).toBeUndefined();
    expect(cache.find([2, 3, 4, 5, 6])).toBeUndefined();
  });

  it("prefers the longest", () => {
    const cache = new PrefixCache(10_000);
    cache.add(tokens(1, 2, 3, 4, 5), 3, () => exported(1));
    cache.add(tokens(1, 2, 3, 9), 2, () => exported(2));
    expect(cache.find([1, 2, 3, 4, 5, 6])?.exported[0]).toBe(1);
    expect(cache.find([1, 2, 9])?.exported[0]).toBe(2);
  });

  it("keeps only the last turn of a conversation", () => {
    const cache = new PrefixCache(2 * entryBytes);
    cache.add(tokens(9, 9, 9, 9, 9), 2, () => exported(9));
    cache.add(tokens(1, 2, 3, 4), 2, () => exported(1));
    cache.add(tokens(1, 2, 3, 4, 5), 4, () => exported(2));
    expect(cache.find([1, 2, 3, 4, 5, 6])?.exported[0]).toBe(2);
    expect(cache.find([1, 2, 3])).toBeUndefined();
    expect(cache.find([9, 9, 9, 9, 9, 9])).toBeDefined();
  });

  it("does not store twice what it has", () => {
    const cache = new PrefixCache(10_000);
    cache.add(tokens(1, 2, 3, 4, 5), 3, () => exported(1));
    cache.add(tokens(1, 2, 3, 4, 5), 3, () => {
      throw new Error("exported again");
    });
    expect(cache.find([1, 2, 3, 4, 5, 6])?.exported[0]).toBe(1);
  });

  it("forgets what was not used for longest when it is full, and everything when cleared", () => {
    const cache = new PrefixCache(2 * entryBytes);
    cache.add(tokens(1, 1, 1, 1, 1), 2, () => exported(1));
    cache.add(tokens(2, 2, 2, 2, 2), 2, () => exported(2));
    expect(cache.find([1, 1, 1, 1, 1, 0])).toBeDefined();
    cache.add(tokens(3, 3, 3, 3, 3), 2, () => exported(3));
    expect(cache.find([1, 1, 1, 1, 1, 0])).toBeDefined();
    expect(cache.find([2, 2, 2, 2, 2, 0])).toBeUndefined();
    expect(cache.find([3, 3, 3, 3, 3, 0])).toBeDefined();
    cache.clear();
    expect(cache.find([3, 3, 3, 3, 3, 0])).toBeUndefined();
  });

  it("keeps nothing when it may keep nothing, and nothing too large", () => {
    for (const limit of [0, entryBytes - 1]) {
      const cache = new PrefixCache(limit);
      cache.add(tokens(1, 1, 1, 1, 1), 2, () => exported(1));
      expect(cache.find([1, 1, 1, 1, 1, 0])).toBeUndefined();
    }
  });
});
