import { describe, expect, test } from "vitest";
import { ConfigError, DataError, RunFolderError } from "../errors.ts";
import { endingOf } from "./exit.ts";

const systemError = (code: string, message: string) => Object.assign(new Error(message), { code });

describe("endingOf", () => {
  test("gives every kind of error its exit code", () => {
    expect(endingOf(new ConfigError("a"), false)).toEqual({ code: 2, message: "a" });
    expect(endingOf(new DataError("b", { file: "f", line: 3 }), false)).toEqual({ code: 2, message: "f:3: b" });
    expect(endingOf(new RunFolderError("c"), false)).toEqual({ code: 3, message: "c" });
    expect(endingOf(systemError("ENOSPC", "write failed"), false)).toMatchObject({
      code: 3,
      message: expect.stringMatching(/disk is full/),
    });
  });

  test.each(["EACCES", "EROFS", "ENOTDIR", "EEXIST"])("a path that can't be used (%s) is no unexpected error", (code) => {
    expect(endingOf(systemError(code, `${code}: no, mkdir '/x'`), false)).toEqual({
      code: 3,
      message: `${code}: no, mkdir '/x': check the path and its permissions, or choose another folder`,
    });
  });

  test("shows control characters instead of sending them to the terminal", () => {
    expect(endingOf(new DataError('got "\u001b[2J\r\u009b1A"\n\tfix it'), false).message).toBe(
      'got "\\u001b[2J\\u000d\\u009b1A"\n\tfix it',
    );
  });

  test("says how to see where an unexpected error comes from", () => {
    expect(endingOf(new TypeError("oh"), false)).toEqual({
      code: 1,
      message: "unexpected error: oh\nset COSEARCH_DEBUG=1 to see where it comes from",
    });
    expect(endingOf(new TypeError("oh"), true).message).toMatch(/unexpected error: oh\n.*exit\.test/s);
  });
});
