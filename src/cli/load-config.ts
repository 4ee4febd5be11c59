/**
 * YAML file + command line -> checked configuration. Relative paths given with `--set` are meant relative to the current folder. The result
 * holds absolute paths.
 */
import { parse } from "yaml";
import type { z } from "zod";
import { type Config, configSchema, retrievalConfigSchema } from "../config.ts";
import { ConfigError } from "../errors.ts";
import { type ConfigFile, readConfigFile, seenFrom, type Tree } from "./config-file.ts";
import { configProblems, isTextKey, knownKeys } from "./config-problems.ts";
import { suggestion } from "./nearest.ts";

/** A file and what the command line changes in it. */
export interface ConfigSource {
  /** The YAML file. */
  readonly file: string;
  /** `--set` entries, `dotted.key=value`; the value is read as YAML (as it is typed where the key holds text). Later ones win. */
  readonly set?: readonly string[];
  /** `--seed`, as typed. */
  readonly seed?: string;
  /** `--steps`, as typed. */
  readonly steps?: string;
}

/** What the command line changes: a dotted key and its value. */
export interface Override {
  /** The flag as it was typed, for messages. */
  readonly flag: string;
  readonly key: string;
  readonly value: unknown;
}

/** Where the settings of `cosearch index` and `cosearch serve retrieval` come from. */
export interface RetrievalConfigSource {
  /** A YAML file of which only the sections retrieval and serving are read. Absent: everything is at its default. */
  readonly file?: string;
  /** As in {@link ConfigSource}. */
  readonly set?: readonly string[];
  /** What the command's own flags say; they win. */
  readonly overrides?: readonly Override[];
}

/** The checked sections retrieval and serving. */
export type RetrievalAndServing = z.infer<typeof retrievalConfigSchema>;

/**
 * Reads, overrides and checks a configuration.
 * @throws ConfigError naming the file and line (or flag), the dotted key, the value and what is expected.
 */
export function loadConfig(source: ConfigSource): Config {
  return check(configSchema, readConfigFile(source.file), source.file, [
    ...setOverrides(source.set),
    ...(source.seed === undefined ? [] : [{ flag: "--seed", key: "seed", value: readValue(source.seed) }]),
    ...(source.steps === undefined ? [] : [{ flag: "--steps", key: "training.steps", value: readValue(source.steps) }]),
  ]);
}

/** The same for the sections retrieval and serving; the others are let be, as long as they are sections that a configuration may have. */
export function loadRetrievalConfig({ file, set, overrides = [] }: RetrievalConfigSource): RetrievalAndServing {
  const changes = [...setOverrides(set), ...overrides];
  for (const { flag, key } of changes) {
    if (knownKeys().includes(key) && !/^(retrieval|serving)\./.test(key)) {
      throw new ConfigError(`${flag}: only keys of the sections retrieval and serving count here`);
    }
  }
  const written = file === undefined ? { tree: {}, placeOf: () => undefined } : readConfigFile(file);
  const sections = Object.keys(configSchema.shape);
  for (const name of Object.keys(written.tree)) {
    if (!sections.includes(name)) {
      const meant = suggestion(name, sections) || `; known here: ${sections.join(", ")}`;
      throw new ConfigError(`${written.placeOf(name)}: ${name}: unknown key${meant}`);
    }
  }
  return check(retrievalConfigSchema, written, file ?? "the command line", changes);
}

function check<Checked>(schema: z.ZodType<Checked>, { tree, placeOf }: ConfigFile, file: string, changes: readonly Override[]): Checked {
  const origins = new Map<string, string>();
  for (const { flag, key, value } of changes) {
    assign(tree, key, value, flag);
    origins.set(key, flag);
  }
  for (const { flag, key, value } of changes) assign(tree, key, seenFrom(process.cwd(), key, value, tree), flag);
  const checked = schema.safeParse(tree);
  if (checked.success) return checked.data;
  const problems = configProblems(checked.error.issues, tree).map(({ key, message }) => {
    return `${origins.get(key) ?? placeOf(key) ?? file}: ${key}: ${message}`;
  });
  throw new ConfigError(problems.join("\n"));
}

function setOverrides(set: readonly string[] = []): Override[] {
  return set.map((entry) => ({ flag: `--set ${entry}`, ...splitEntry(entry) }));
}

/** The default place of a run: `runs/<name>-<system>-seed<seed>`. */
export function defaultRunFolder(config: Config): string {
  return `runs/${config.name}-${config.system}-seed${config.seed}`;
}

function splitEntry(entry: string): { key: string; value: unknown } {
  const at = entry.indexOf("=");
  if (at <= 0) throw new ConfigError(`--set ${entry}: expected dotted.key=value, e.g. --set training.steps=20`);
  const key = entry.slice(0, at).trim();
  const text = entry.slice(at + 1);
  return { key, value: isTextKey(key) ? text : readValue(text) };
}

function readValue(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return text;
  }
}

/** Sets a dotted key, making sections on the way. Checks the key first: a typo must not make a new section. */
function assign(tree: Tree, key: string, value: unknown, flag: string): void {
  const known = knownKeys();
  if (!known.includes(key)) throw new ConfigError(`${flag}: unknown key ${key}${suggestion(key, known) || sameLastPart(key, known)}`);
  const parts = key.split(".");
  let section = tree;
  for (const part of parts.slice(0, -1)) {
    if (typeof section[part] !== "object" || section[part] === null) section[part] = {};
    section = section[part] as Tree;
  }
  section[parts.at(-1) as string] = value;
}

/** For a key given without its section. */
function sameLastPart(key: string, known: readonly string[]): string {
  const last = (name: string) => name.split(".").at(-1)?.toLowerCase();
  const meant = known.find((name) => last(name) === last(key));
  return meant === undefined ? "" : ` (did you mean ${meant}?)`;
}
