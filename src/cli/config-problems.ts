import type { z } from "zod";
import { configSchema } from "../config.ts";
import { suggestion } from "./nearest.ts";

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** One thing that is wrong with a configuration: the dotted key, and the value with what is expected instead. */
export interface ConfigProblem {
  readonly key: string;
  readonly message: string;
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
    if (issue.code === "custom") return [{ key: dotted(issue.path), message: issue.message }];
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

/** Every dotted key of the schema that holds a value. */
export function knownKeys(): string[] {
  const walk = (shape: Record<string, z.ZodType>, prefix: string): string[] =>
    Object.entries(shape).flatMap(([name, type]) => {
      const inner = shapeOf(type);
      return inner ? walk(inner, `${prefix}${name}.`) : [prefix + name];
    });
  return walk(configSchema.shape as Record<string, z.ZodType>, "");
}

/** Whether a dotted key holds free text, which the command line then takes as it is typed. */
export function isTextKey(key: string): boolean {
  const parts = key.split(".");
  let shape: Record<string, z.ZodType> | undefined = configSchema.shape as Record<string, z.ZodType>;
  let type: z.ZodType | undefined;
  for (const part of parts) {
    type = shape && Object.hasOwn(shape, part) ? shape[part] : undefined;
    shape = type && shapeOf(type);
  }
  while (type && type.def.type !== "string") type = innerOf(type);
  return type !== undefined;
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
    default:
      return issue.message;
  }
}

/** The keys of the section at a path. */
function keysAt(path: Path): string[] {
  let shape: Record<string, z.ZodType> | undefined = configSchema.shape as Record<string, z.ZodType>;
  for (const part of path) shape = shape?.[String(part)] && shapeOf(shape[String(part)] as z.ZodType);
  return shape ? Object.keys(shape) : [];
}

/** The schema's description of a key. */
function describeKey(path: Path): string | undefined {
  let shape: Record<string, z.ZodType> | undefined = configSchema.shape as Record<string, z.ZodType>;
  let type: z.ZodType | undefined;
  for (const part of path) {
    if (typeof part === "number") break;
    type = shape?.[String(part)];
    shape = type && shapeOf(type);
  }
  while (type) {
    if (type.description) return type.description;
    type = innerOf(type);
  }
  return undefined;
}

/** Sections are wrapped (optional, prefault): the shape is that of the object inside. */
function shapeOf(type: z.ZodType): Record<string, z.ZodType> | undefined {
  for (let current: z.ZodType | undefined = type; current; current = innerOf(current)) {
    if ("shape" in current) return current.shape as Record<string, z.ZodType>;
  }
  return undefined;
}

function innerOf(type: z.ZodType): z.ZodType | undefined {
  return (type.def as { innerType?: z.ZodType }).innerType;
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, part) => (inner as Record<PropertyKey, unknown> | null | undefined)?.[part], value);
}
