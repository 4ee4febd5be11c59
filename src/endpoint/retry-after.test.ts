import { describe, expect, it } from "vitest";
import { retryAfterSeconds } from "./retry-after.ts";

describe("retryAfterSeconds", () => {
  it.each([
    [null, 0],
    [undefined, 0],
    ["", 0],
    ["7", 7],
    [" 0.5 ", 0.5],
    ["3600", 60],
    ["-3", 0],
    ["soon", 0],
    ["Infinity", 0],
    ["Wed, 21 Oct 2015 07:28:00 GMT", 0],
    ["Sun, 06 Nov 2094 08:49:37 GMT", 60],
  ])("%j asks for %d of at most 60", (header, seconds) => {
    expect(retryAfterSeconds(header, 60)).toBe(seconds);
  });
});
