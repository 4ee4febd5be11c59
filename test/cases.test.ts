import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import * as cosearch from "../src/index.ts";

/**
 * Input and output pairs of the public functions, kept beside the repository so that other implementations can run them too.
 * One JSON object a line; the folder's own README describes the forms of `expect`.
 */
interface Case {
  readonly id: string;
  readonly function: string;
  readonly arguments: readonly unknown[];
  readonly expect: {
    readonly equal?: unknown;
    readonly close?: number;
    readonly kind?: string;
    readonly match?: Readonly<Record<string, unknown>>;
    readonly partition?: readonly (readonly number[])[];
    readonly tolerance?: number;
  };
  readonly why: string;
}

const folder = fileURLToPath(new URL("../../shared/cases/", import.meta.url));
const functions = cosearch as unknown as Readonly<Record<string, (...values: readonly unknown[]) => unknown>>;

if (!existsSync(folder)) {
  console.warn(`cases.test.ts: no case was run, ${folder} is not there`);
  describe("shared cases", () => {
    it.skip(`skipped: ${folder} is not there`, () => {});
  });
} else {
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".jsonl"))) {
    const cases = readFileSync(`${folder}/${file}`, "utf8")
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Case);
    describe(file, () => {
      it.each(cases.map((one) => [one.id, one] as const))("%s", (_id, one) => judge(one));
    });
  }
}

/** Pure functions: called twice, with the arguments untouched. */
function judge(one: Case): void {
  const given = structuredClone(one.arguments);
  for (let attempt = 0; attempt < 2; attempt++) {
    const result = functions[one.function]?.(...given);
    expect(given, one.why).toEqual(one.arguments);
    judgeResult(one, result);
  }
}

function judgeResult(one: Case, result: unknown): void {
  const { equal, close, kind, match, partition, tolerance = 0 } = one.expect;
  if (partition) {
    const groups = (result as { members: { index: number }[] }[]).map((group) => group.members.map((call) => call.index));
    expect(canonical(groups), one.why).toEqual(canonical(partition));
  } else if (kind) {
    expect(result, one.why).toMatchObject({ kind, reason: expect.any(String) });
  } else if (match) {
    for (const [field, value] of Object.entries(match)) expectClose((result as Record<string, unknown>)[field], value, tolerance, one.why);
  } else {
    expectClose(result, close ?? equal, tolerance, one.why);
  }
}

function expectClose(result: unknown, value: unknown, tolerance: number, why: string): void {
  if (typeof value === "number") {
    expect(result, why).toBeTypeOf("number");
    expect(Math.abs((result as number) - value), why).toBeLessThanOrEqual(tolerance);
  } else if (Array.isArray(value)) {
    expect(result, why).toHaveLength(value.length);
    for (const [index, item] of value.entries()) expectClose((result as unknown[])[index], item, tolerance, why);
  } else {
    expect(result, why).toEqual(value);
  }
}

function canonical(groups: readonly (readonly number[])[]): number[][] {
  return groups.map((group) => [...group].sort((a, b) => a - b)).sort((a, b) => (a[0] ?? 0) - (b[0] ?? 0));
}
