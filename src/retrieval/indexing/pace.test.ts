import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { durationText, Pace } from "./pace.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("tells units, rate and time left of what this process did", () => {
  const pace = new Pace(1000, 0.1);
  vi.advanceTimersByTime(10_000);
  expect(pace.words(3000, "passages", 0.3)).toBe("3,000 passages, 200/s, 35 s left");
  expect(pace.words(1000, "passages", 0.1)).toBe("1,000 passages");
  expect(pace.words(10_000, "passages", 1)).toBe("10,000 passages, 900/s");
});

it.each([
  [0.2, "1 s"],
  [59, "59 s"],
  [60, "1 min"],
  [3599, "1 h"],
  [7500, "2 h 5 min"],
])("durationText(%d) = %s", (seconds, text) => expect(durationText(seconds)).toBe(text));
