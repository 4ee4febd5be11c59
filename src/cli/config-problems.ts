import type { z } from "zod";
import { describeKey, isRemovable, keysAt } from "./config-keys.ts";
import { suggestion } from "./nearest.ts";

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** One thing that is wrong with a configuration: the dotted key, and the value with what is expected instead. */
export interface ConfigProblem {
  readonly key: string;
  readonly message: string;
  /** Where settings contradict each other: all of them, the key too. */
  readonly involved?: readonly string[];
}

/** Reads zod's issues as sentences about dotted keys. `value` is the configuration as it was given. */
export function configProblems(issues: readonly Issue[], value: unknown): ConfigProblem[] {
  return issues.flatMap((issue) => {
    if (issue.code === "unrecognized_keys") {
      const known = keysAt(issue.path);
      return issue.keys.map((name) => ({
        key: dotted([...issue.path, name]),
        message: `unknown key${suggestion(name, known) || `; known here: ${known.join(", ")}`}`,
      }));
    }
    const found = valueAt(value, issue.path);
    const meant = issue.code === "invalid_union" ? meantAlternative(issue) : undefined;
    if (meant) return configProblems(meant, value);
    if (issue.code === "custom") {
      const key = dotted(issue.path);
      return [{ key, message: issue.message, involved: [...new Set([key, ...namedIn(issue.message, issue.path)])] }];
    }
    const description = describeKey(issue.path);
    const expected = `expected ${expectation(issue)}${description ? ` (${description})` : ""}`;
    return [
      {
        key: dotted(issue.path) || "the file",
        message: found === undefined ? `is missing: ${expected}` : `${expected}, got ${JSON.stringify(found)}`,
      },
    ];
  });
}

/** `["a", 0, "b"]` -> `a[0].b` */
export function dotted(path: Path): string {
  return path
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`))
    .join("")
    .replace(/^\./, "");
}

function expectation(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return (
        {
          int: "a whole number",
          number: "a number",
          string: "a text",
          boolean: "true or false",
          array: "a list",
          object: "a section with keys",
        }[issue.expected as string] ?? issue.expected
      );
    case "invalid_value":
      return `one of ${issue.values.map(String).join(", ")}`;
    case "too_small":
      return issue.origin === "array"
        ? `at least ${issue.minimum} entry`
        : `a value ${issue.inclusive ? "of at least" : "above"} ${issue.minimum}`;
    case "too_big":
      return `a value ${issue.inclusive ? "of at most" : "below"} ${issue.maximum}`;
    case "invalid_union":
      return issue.errors.flatMap(([first]) => (first ? [expectation(first)] : [])).join(" or ");
    default:
      return issue.message;
  }
}

/** Of several kinds of value, the one that was given, with what is wrong inside it; undefined where none (or more than one) was. */
function meantAlternative({ path, errors }: z.core.$ZodIssueInvalidUnion): Issue[] | undefined {
  const ofRightKind = errors.filter((issues) => !issues.some(({ code, path: inner }) => code === "invalid_type" && inner.length === 0));
  const [only, another] = ofRightKind;
  return only && !another ? only.map((issue) => ({ ...issue, path: [...path, ...issue.path] })) : undefined;
}

/** The dotted keys that a message names, in full or as seen from one of the sections around `path`. */
function namedIn(message: string, path: Path): string[] {
  const names = message.match(/[a-z][A-Za-z0-9]*(\.[a-z][A-Za-z0-9]*)+/g) ?? [];
  const sections = path.map((_, depth) => path.slice(0, depth).map(String));
  return names.flatMap((name) => {
    const around = sections.find((section) => isRemovable([...section, ...name.split(".")]));
    return around ? [[...around, name].join(".")] : [];
  });
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, part) => (inner as Record<PropertyKey, unknown> | null | undefined)?.[part], value);
}
