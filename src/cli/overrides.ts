/** What the command line changes in a configuration. */
import { parse } from "yaml";
import { ConfigError } from "../errors.ts";
import { seenFrom, type Tree } from "./config-file.ts";
import { isKnown, isRemovable, isTextKey, knownKeys } from "./config-keys.ts";
import { suggestion } from "./nearest.ts";

/** What the command line changes: a dotted key and its value. */
export interface Override {
  /** The flag as it was typed, for messages. */
  readonly flag: string;
  readonly key: string;
  readonly value: unknown;
}

/** `--set` entries, `dotted.key=value`. @throws ConfigError naming one that is none. */
export function setOverrides(set: readonly string[] = []): Override[] {
  return set.map((entry) => ({ flag: `--set ${entry}`, ...splitEntry(entry) }));
}

/**
 * Makes the changes in their order; paths become absolute, seen from the current folder.
 * @returns the flag that decided each dotted key.
 * @throws ConfigError naming the flag whose key there is not.
 */
export function applyOverrides(tree: Tree, changes: readonly Override[]): Map<string, string> {
  const origins = new Map<string, string>();
  for (const { flag, key, value } of changes) {
    assign(tree, key, value, flag);
    origins.set(key, flag);
  }
  // Which values are paths can depend on what other flags say; a value that a later flag replaced or took away stays so.
  for (const { flag, key, value } of changes) {
    if (value !== null && valueAt(tree, key) === value) assign(tree, key, seenFrom(process.cwd(), key, value, tree), flag);
  }
  return origins;
}

function splitEntry(entry: string): { key: string; value: unknown } {
  const at = entry.indexOf("=");
  if (at <= 0) throw new ConfigError(`--set ${entry}: expected dotted.key=value, e.g. --set training.steps=20`);
  const key = entry.slice(0, at).trim();
  const text = entry.slice(at + 1);
  return { key, value: isTextKey(key) && text.trim() !== "null" ? text : readValue(text) };
}

/** A value as YAML has it; text that is no YAML as it is, and nothing at all, which YAML takes for null, too. */
export function readValue(text: string): unknown {
  if (text.trim() === "") return text;
  try {
    return parse(text);
  } catch {
    return text;
  }
}

/** Sets a dotted key, making sections on the way; null takes a key or section away. Checks the key first: a typo must not make a new section. */
function assign(tree: Tree, key: string, value: unknown, flag: string): void {
  const known = knownKeys();
  const parts = key.split(".");
  const removes = value === null && isRemovable(parts);
  if (!removes && !known.includes(key)) throw new ConfigError(`${flag}: ${notSettable(key, known)}`);
  let section = tree;
  for (const part of parts.slice(0, -1)) {
    if (typeof section[part] !== "object" || section[part] === null) {
      if (removes) return;
      section[part] = {};
    }
    section = section[part] as Tree;
  }
  if (removes) delete section[parts.at(-1) as string];
  else section[parts.at(-1) as string] = value;
}

function notSettable(key: string, known: readonly string[]): string {
  if (isKnown(key)) return `${key} is a section: set its keys one by one, or remove it with --set ${key}=null`;
  return `unknown key ${key}${suggestion(key, known) || sameLastPart(key, known)}`;
}

function valueAt(tree: Tree, key: string): unknown {
  return key.split(".").reduce<unknown>((inner, part) => (inner as Tree | null | undefined)?.[part], tree);
}

/** For a key given without its section. */
function sameLastPart(key: string, known: readonly string[]): string {
  const last = (name: string) => name.split(".").at(-1)?.toLowerCase();
  const meant = known.find((name) => last(name) === last(key));
  return meant === undefined ? "" : ` (did you mean ${meant}?)`;
}
