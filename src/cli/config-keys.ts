/** The keys of a configuration as the schema has them. */
import type { z } from "zod";
import { configSchema } from "../config.ts";

type Shape = Record<string, z.ZodType>;

/** The keys of a whole configuration by name. */
const whole = configSchema.shape as Shape;

/** Every dotted key of the schema that holds a value. */
export function knownKeys(): string[] {
  const walk = (shape: Shape, prefix: string): string[] =>
    Object.entries(shape).flatMap(([name, type]) => {
      const inner = shapeOf(type);
      return inner ? walk(inner, `${prefix}${name}.`) : [prefix + name];
    });
  return walk(whole, "");
}

/** Whether the schema has such a key or section. */
export function isKnown(key: string): boolean {
  return knownKeys().some((known) => known === key || known.startsWith(`${key}.`));
}

/** Whether a dotted key holds free text, which the command line then takes as it is typed. */
export function isTextKey(key: string): boolean {
  let type = typeAt(key.split("."));
  while (type && type.def.type !== "string") type = innerOf(type);
  return type !== undefined;
}

/** Whether null takes an inherited key (or section) away; where the schema itself accepts null, null is a value like any other. */
export function isRemovable(path: readonly string[]): boolean {
  const type = typeAt(path);
  return type !== undefined && !type.safeParse(null).success;
}

/** The keys of the section at a path. */
export function keysAt(path: readonly PropertyKey[]): string[] {
  const type = typeAt(path.map(String));
  const shape = path.length === 0 ? whole : type && shapeOf(type);
  return shape ? Object.keys(shape) : [];
}

/** The schema's description of a key. */
export function describeKey(path: readonly PropertyKey[]): string | undefined {
  const list = path.findIndex((part) => typeof part === "number");
  let type = typeAt((list < 0 ? path : path.slice(0, list)).map(String));
  for (; type; type = innerOf(type)) if (type.description) return type.description;
  return undefined;
}

/** The schema of a key or section; undefined where it has none. */
function typeAt(path: readonly string[]): z.ZodType | undefined {
  let shape: Shape | undefined = whole;
  let type: z.ZodType | undefined;
  for (const part of path) {
    type = shape && Object.hasOwn(shape, part) ? shape[part] : undefined;
    shape = type && shapeOf(type);
  }
  return type;
}

/** Sections are wrapped (optional, prefault): the shape is that of the object inside. */
function shapeOf(type: z.ZodType): Shape | undefined {
  for (let current: z.ZodType | undefined = type; current; current = innerOf(current)) {
    if ("shape" in current) return current.shape as Shape;
  }
  return undefined;
}

function innerOf(type: z.ZodType): z.ZodType | undefined {
  return (type.def as { innerType?: z.ZodType }).innerType;
}
