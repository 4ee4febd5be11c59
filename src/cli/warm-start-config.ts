/** From a warm start's results to a configuration that begins from them. */
import { dirname, isAbsolute, relative, resolve } from "node:path";
import { stringify } from "yaml";
import type { Config } from "../config.ts";
import type { Tree } from "./config-file.ts";
import { applyOverrides, type Override, setOverrides } from "./overrides.ts";

/** A policy's result. */
export interface WarmStartResult {
  readonly policy: "agent" | "ranker";
  readonly kind: "adapter" | "model";
  readonly folder: string;
}

/** Which keys take which folders; paths are absolute. */
export function resultKeys(results: readonly WarmStartResult[], { ranker }: Config): readonly (readonly [key: string, folder: string])[] {
  return results.flatMap(({ policy, kind, folder }): [string, string][] => {
    if (policy === "ranker" && ranker.sharedBackbone) return [];
    return [[kind === "adapter" ? `${policy}.lora.from` : `${policy}.model`, resolve(folder)]];
  });
}

/** The text of a configuration in `file` that extends `base`, takes the command line's `--set`s over, and begins from the results. */
export function warmConfigText(
  file: string,
  base: string,
  set: readonly string[],
  keys: readonly (readonly [key: string, folder: string])[],
): string {
  const folder = dirname(resolve(file));
  const tree: Tree = {};
  const changes = keys.map(([key, value]): Override => ({ flag: "--write-config", key, value }));
  const settings = setOverrides(set).filter(({ value }) => value !== null);
  applyOverrides(tree, [...settings, ...changes]);
  for (const { key } of setOverrides(set).filter(({ value }) => value === null)) putNull(tree, key);
  return `# Begins from a supervised warm start (cosearch warm-start).\n${stringify({ extends: relative(folder, resolve(base)), ...withRelativePaths(tree, keys, folder) })}`;
}

/** What the command line takes away, the file takes away. */
function putNull(tree: Tree, key: string): void {
  const parts = key.split(".");
  let section = tree;
  for (const part of parts.slice(0, -1)) {
    section[part] ??= {};
    section = section[part] as Tree;
  }
  section[parts.at(-1) as string] = null;
}

/** The results' paths as the file's folder sees them, so that both can be moved together. A bare `warm/agent` could be a name of the Hub. */
function withRelativePaths(tree: Tree, keys: readonly (readonly [key: string, folder: string])[], folder: string): Tree {
  for (const [key, path] of keys) {
    const parts = key.split(".");
    const section = parts.slice(0, -1).reduce<Tree>((inner, part) => inner[part] as Tree, tree);
    const seen = relative(folder, path);
    section[parts.at(-1) as string] = seen.startsWith("..") || isAbsolute(seen) ? seen : `./${seen}`;
  }
  return tree;
}
