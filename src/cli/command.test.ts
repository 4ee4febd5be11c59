import { describe, expect, it } from "vitest";
import { allPositionals, checkFlags } from "./command.ts";

const definitions = {
  corpus: { type: "positional" },
  index: { type: "string" },
  json: { type: "boolean" },
} as const;

describe("allPositionals", () => {
  it("leaves flags and their values out", () => {
    expect(allPositionals(["a", "--index", "b", "c", "--json", "d", "--index=e", "f"], definitions)).toEqual(["a", "c", "d", "f"]);
  });
});

describe("checkFlags", () => {
  it("takes one positional argument, or many where the command says so", () => {
    expect(() => checkFlags("index build", ["a", "b"], definitions)).toThrow('index build: unexpected argument "b"');
    expect(() => checkFlags("index build", ["a", "b", "--json"], definitions, "corpus")).not.toThrow();
  });

  it("names the nearest flag", () => {
    expect(() => checkFlags("index build", ["a", "--indx", "b"], definitions)).toThrow(
      "index build: unknown flag --indx (did you mean --index?)",
    );
  });
});
