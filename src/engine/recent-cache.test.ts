import { describe, expect, it } from "vitest";
import { RecentCache } from "./recent-cache.ts";

describe("RecentCache", () => {
  it("computes once, and again only what was forgotten", () => {
    const cache = new RecentCache<string, string>(2);
    const computed: string[] = [];
    const get = (key: string) =>
      cache.get(key, () => {
        computed.push(key);
        return key.toUpperCase();
      });
    expect(["a", "b", "a", "c", "a", "b"].map(get)).toEqual(["A", "B", "A", "C", "A", "B"]);
    expect(computed).toEqual(["a", "b", "c", "b"]);
  });
});
