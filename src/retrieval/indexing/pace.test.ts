import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Pace } from "./pace.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("tells the rate of what this process did", () => {
  const pace = new Pace(1000);
  expect(pace.words(1000)).toBe("");
  vi.advanceTimersByTime(10_000);
  expect(pace.words(1000)).toBe("");
  expect(pace.words(1025)).toBe("2.5 passages/s");
  expect(pace.words(13_345)).toBe("1,235 passages/s");
});
