import { describe, expect, it } from "vitest";
import * as errors from "../errors.ts";
import { fromPlainError, toPlainError } from "./plain-error.ts";

const crossed = (error: unknown) => fromPlainError(structuredClone(toPlainError(error)));

describe("errors that cross a thread", () => {
  it.each([...Object.values(errors), RangeError, TypeError])("keep class, message and stack: %o", (errorClass) => {
    const error = new errorClass("reason");
    expect(crossed(error)).toBeInstanceOf(errorClass);
    expect(crossed(error)).toMatchObject({ name: error.name, message: "reason", stack: error.stack });
  });

  it("keep the place of a DataError in the message, once", () => {
    expect(crossed(new errors.DataError("is wrong", { file: "a.jsonl", line: 3 })).message).toBe("a.jsonl:3: is wrong");
  });

  it("stay aborts, and become errors where something else was thrown", () => {
    expect(crossed(new DOMException("enough", "AbortError"))).toMatchObject({ name: "AbortError", message: "enough" });
    expect(crossed("a string")).toEqual(new Error("a string"));
    expect(crossed(new SyntaxError("odd"))).toEqual(new Error("odd"));
  });
});
