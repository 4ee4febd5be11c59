/**
 * YAML file + command line -> checked configuration. A file may begin from another one (`extends: other.yaml`) and say only what differs.
 * Relative paths inside a file are meant relative to that file's folder; relative paths given with `--set` are meant relative to the
 * current folder. The result holds absolute paths.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { isMap, LineCounter, parse, parseDocument } from "yaml";
import { type Config, configSchema } from "../config.ts";
import { ConfigError } from "../errors.ts";
import { configProblems, isTextKey, knownKeys } from "./config-problems.ts";
import { suggestion } from "./nearest.ts";

/** Keys that hold paths. */
const pathKeys = [
  "data.train",
  "data.dev",
  "data.test",
  "retrieval.corpus",
  "retrieval.index.folder",
  "retrieval.index.location",
  "retrieval.embedder.model",
  "agent.model",
  "ranker.model",
];

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

type Tree = Record<string, unknown>;

/**
 * Reads, overrides and checks a configuration.
 * @throws ConfigError naming the file and line (or flag), the dotted key, the value and what is expected.
 */
export function loadConfig(source: ConfigSource): Config {
  const { tree, placeOf } = readWithBases(source.file, []);
  const origins = new Map<string, string>();
  const overrides = [
    ...(source.set ?? []).map((entry) => ({ flag: `--set ${entry}`, ...splitEntry(entry) })),
    ...(source.seed === undefined ? [] : [{ flag: "--seed", key: "seed", value: readValue(source.seed) }]),
    ...(source.steps === undefined ? [] : [{ flag: "--steps", key: "training.steps", value: readValue(source.steps) }]),
  ];
  for (const { flag, key, value } of overrides) {
    assign(tree, key, pathKeys.includes(key) ? absolute(key, value, process.cwd()) : value, flag);
    origins.set(key, flag);
  }
  const checked = configSchema.safeParse(tree);
  if (checked.success) return checked.data;
  const problems = configProblems(checked.error.issues, tree).map(({ key, message }) => {
    return `${origins.get(key) ?? placeOf(key) ?? source.file}: ${key}: ${message}`;
  });
  throw new ConfigError(problems.join("\n"));
}

/** The default place of a run: `runs/<name>-<system>-seed<seed>`. */
export function defaultRunFolder(config: Config): string {
  return `runs/${config.name}-${config.system}-seed${config.seed}`;
}

interface ConfigFile {
  readonly tree: Tree;
  /** `file:line` of a dotted key (of its nearest section, when the key itself is absent); undefined when the file doesn't have it. */
  readonly placeOf: (key: string) => string | undefined;
}

/** A file laid over the one that it extends, with absolute paths. */
function readWithBases(file: string, below: readonly string[]): ConfigFile {
  const path = resolve(file);
  if (below.includes(path)) throw new ConfigError(`${file}: extends itself (${[...below, path].join(" -> ")}): remove one "extends"`);
  const { tree, lineOf } = readYaml(file);
  const { extends: base, ...own } = tree;
  absolutePaths(own, dirname(path));
  const placeOf = (key: string) => {
    const line = lineOf(key);
    return line === undefined ? undefined : `${file}:${line}`;
  };
  if (base === undefined) return { tree: own, placeOf };
  if (typeof base !== "string") throw new ConfigError(`${placeOf("extends")}: extends: expected a file name, got ${JSON.stringify(base)}`);
  const under = readWithBases(resolve(dirname(path), base), [...below, path]);
  return { tree: overlaid(under.tree, own), placeOf: (key) => placeOf(key) ?? under.placeOf(key) };
}

/** Sections are merged key by key; everything else replaces what was there. */
function overlaid(base: Tree, over: Tree): Tree {
  const merged: Tree = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const before = merged[key];
    merged[key] = isTree(before) && isTree(value) ? overlaid(before, value) : value;
  }
  return merged;
}

function readYaml(file: string): { tree: Tree; lineOf: (key: string) => number | undefined } {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new ConfigError(
      `${file}: can't be read (${(error as NodeJS.ErrnoException).code}): name a configuration file, e.g. --config configs/atlas.yaml`,
      {
        cause: error,
      },
    );
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const [problem] = document.errors;
  if (problem) throw new ConfigError(`${file}:${problem.linePos?.[0].line ?? 1}: not valid YAML: ${problem.message.split("\n")[0]}`);
  const tree = document.toJS() as unknown;
  if (typeof tree !== "object" || tree === null || Array.isArray(tree)) {
    throw new ConfigError(
      `${file}: expected a file of "key: value" lines (sections data, retrieval, agent, ...), got ${JSON.stringify(tree)}`,
    );
  }
  const lineOf = (key: string): number | undefined => {
    let node: unknown = document.contents;
    let line: number | undefined;
    for (const part of key.replace(/\[\d+\]/g, "").split(".")) {
      const pair = isMap(node) ? node.items.find((item) => String((item.key as { value?: unknown }).value) === part) : undefined;
      if (!pair) return line;
      const range = (pair.key as { range?: readonly [number, number, number] }).range;
      if (range) line = lines.linePos(range[0]).line;
      node = pair.value;
    }
    return line;
  };
  return { tree: tree as Tree, lineOf };
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

function absolutePaths(tree: Tree, folder: string): void {
  for (const key of pathKeys) {
    const parts = key.split(".");
    const name = parts.pop() as string;
    let section: unknown = tree;
    for (const part of parts) section = isTree(section) ? section[part] : undefined;
    if (isTree(section) && section[name] !== undefined) section[name] = absolute(key, section[name], folder);
  }
}

function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A path, or each of several, seen from `folder`. Addresses (`s3://...`) and Hugging Face names that are no local path stay as they are. */
function absolute(key: string, value: unknown, folder: string): unknown {
  if (Array.isArray(value)) return value.map((item) => absolute(key, item, folder));
  if (typeof value !== "string" || value.includes("://")) return value;
  const path = resolve(folder, value);
  return key.endsWith(".model") && isHubName(value) && !existsSync(path) ? value : path;
}

/** `owner/name`, as on the Hugging Face Hub. */
function isHubName(text: string): boolean {
  return /^[A-Za-z0-9][\w.-]*\/[A-Za-z0-9][\w.-]*$/.test(text);
}
