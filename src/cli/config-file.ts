/**
 * Configuration files. A file may begin from another one (`extends: other.yaml`) and say only what differs; `key: null` takes away what the
 * other one says. Relative paths inside a file are meant relative to that file's folder and become absolute.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { isMap, LineCounter, parseDocument } from "yaml";
import { ConfigError } from "../errors.ts";
import { isRemovable } from "./config-keys.ts";

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
  "agent.endpoint.tokenizer",
  "agent.lora.from",
  "ranker.model",
  "ranker.endpoint.tokenizer",
  "ranker.lora.from",
];

/** A section, or the whole file. */
export type Tree = Record<string, unknown>;

/** A configuration as it was written, with its bases laid under it. */
export interface ConfigFile {
  readonly tree: Tree;
  /** `file:line` of a dotted key (of its nearest section, when the key itself is absent); undefined when the file doesn't have it. */
  readonly placeOf: (key: string) => string | undefined;
  /** The same for a key that the file has only from one that it extends; undefined for its own keys and absent ones. */
  readonly inheritedFrom: (key: string) => string | undefined;
}

/**
 * A file laid over the one that it extends, with absolute paths. `below`: files that extend this one.
 * @throws ConfigError naming the file when it can't be read, is not YAML, or extends itself.
 */
export function readConfigFile(file: string, below: readonly string[] = []): ConfigFile {
  const path = resolve(file);
  if (below.includes(path)) throw new ConfigError(`${file}: extends itself (${[...below, path].join(" -> ")}): remove one "extends"`);
  const { tree, lineOf } = readYaml(file);
  const { extends: base, ...own } = tree;
  absolutePaths(own, dirname(path));
  const placeOf = (key: string) => {
    const line = lineOf(key);
    return line === undefined ? undefined : `${file}:${line}`;
  };
  if (base === undefined) return { tree: own, placeOf, inheritedFrom: () => undefined };
  if (typeof base !== "string") throw new ConfigError(`${placeOf("extends")}: extends: expected a file name, got ${JSON.stringify(base)}`);
  const under = readConfigFile(resolve(dirname(path), base), [...below, path]);
  const inheritedFrom = (key: string) => (!decides(own, key) && decides(under.tree, key) ? under.placeOf(key) : undefined);
  return {
    tree: overlaid(under.tree, own),
    placeOf: (key) => inheritedFrom(key) ?? placeOf(key) ?? under.placeOf(key),
    inheritedFrom,
  };
}

/** Sections are merged key by key, null takes away; everything else replaces what was there. `path`: of the section. */
function overlaid(base: Tree, over: Tree, path: readonly string[] = []): Tree {
  const merged: Tree = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const before = merged[key];
    if (isTree(value)) merged[key] = overlaid(isTree(before) ? before : {}, value, [...path, key]);
    else if (value === null && isRemovable([...path, key])) delete merged[key];
    else merged[key] = value;
  }
  return merged;
}

/** Whether a tree gives a dotted key a value, or takes it (or a section around it) away. */
export function decides(tree: Tree, key: string): boolean {
  let value: unknown = tree;
  for (const part of key.replace(/\[\d+\]/g, "").split(".")) {
    if (!isTree(value)) return true;
    value = Object.hasOwn(value, part) ? value[part] : undefined;
    if (value === undefined) return false;
  }
  return true;
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

function absolutePaths(tree: Tree, folder: string): void {
  for (const key of pathKeys) {
    const parts = key.split(".");
    const name = parts.pop() as string;
    let section: unknown = tree;
    for (const part of parts) section = isTree(section) ? section[part] : undefined;
    if (!isTree(section) || section[name] === undefined) continue;
    section[name] = seenFrom(folder, key, section[name], tree);
  }
}

/** An endpoint's model is a name that the server knows. */
function isServersName(key: string, { retrieval }: Tree): boolean {
  return key === "retrieval.embedder.model" && isTree(retrieval) && isTree(retrieval.embedder) && retrieval.embedder.kind === "endpoint";
}

function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value of a key as seen from `folder`: a path, or each of several, becomes absolute where the key holds paths in this tree. */
export function seenFrom(folder: string, key: string, value: unknown, tree: Tree): unknown {
  return pathKeys.includes(key) && !isServersName(key, tree) ? absolute(key, value, folder) : value;
}

/** A path, or each of several, seen from `folder`. Addresses (`s3://...`) and Hugging Face names that are no local path stay as they are. */
function absolute(key: string, value: unknown, folder: string): unknown {
  if (Array.isArray(value)) return value.map((item) => absolute(key, item, folder));
  if (typeof value !== "string" || value.includes("://")) return value;
  const path = resolve(folder, value);
  return /\.(model|tokenizer)$/.test(key) && isHubName(value) && !existsSync(path) ? value : path;
}

/** `owner/name`, as on the Hugging Face Hub. */
function isHubName(text: string): boolean {
  return /^[A-Za-z0-9][\w.-]*\/[A-Za-z0-9][\w.-]*$/.test(text);
}
