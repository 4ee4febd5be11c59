import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { ConfigError } from "../../errors.ts";
import { cachedCommit, snapshotFiles, snapshotFolder, storageFolder } from "./cache-layout.ts";
import { graphData, holdWeights } from "./default-files.ts";
import { AbsentRepositoryError } from "./hub-request.ts";
import { readListing } from "./listing.ts";
import { pullRepository } from "./pull.ts";
import type { ResolveOptions } from "./pull-request.ts";
import { isRepositoryName, repositoryOf } from "./repository.ts";
import { hubSettings } from "./settings.ts";

export type { ResolveOptions } from "./pull-request.ts";
export { resolveCorpusPath } from "./resolve-corpus-path.ts";

/** How a model is looked up. */
export interface ResolveModelOptions extends ResolveOptions {
  /** Whether the model is used as an ONNX graph: a snapshot that another client left without one is completed. */
  readonly needsGraph?: boolean;
}

/**
 * The folder of a model. A path that exists here wins; then the cached snapshot of the Hub's `OWNER/NAME` or `OWNER/NAME@REVISION`, without
 * any request; else it is pulled, unless offline.
 * @throws ConfigError naming both possibilities when it is neither; what `pullRepository` throws.
 */
export async function resolveModel(nameOrPath: string, options: ResolveModelOptions = {}): Promise<string> {
  if (await exists(nameOrPath)) return nameOrPath;
  const [name = "", revision, ...rest] = nameOrPath.split("@");
  if (!isRepositoryName(name) || rest.length > 0) {
    throw new ConfigError(
      `${JSON.stringify(nameOrPath)}: there is no such folder here, and a model of the Hub is named OWNER/NAME, e.g. intfloat/e5-base-v2: correct the path or the name`,
    );
  }
  const settings = await hubSettings(options.environment);
  const storage = storageFolder(settings.cache, repositoryOf("model", name, revision));
  const commit = await cachedCommit(storage, revision ?? "main");
  if (commit !== undefined && (await isUsable(storage, commit, options.needsGraph === true))) return snapshotFolder(storage, commit);
  try {
    return (await pullRepository({ ...options, kind: "model", name, revision })).folder;
  } catch (error) {
    const isAbsent = error instanceof AbsentRepositoryError || ((options.offline ?? settings.offline) && error instanceof ConfigError);
    if (!isAbsent) throw error;
    throw new ConfigError(`${JSON.stringify(nameOrPath)}: there is no such folder here, and as a model of the Hub: ${error.message}`, {
      cause: error,
    });
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Whether a snapshot, perhaps another client's, is a whole model: its configuration, weights with all their shards, its tokenizer. */
async function isUsable(storage: string, commit: string, needsGraph: boolean): Promise<boolean> {
  const folder = snapshotFolder(storage, commit);
  const present = await snapshotFiles(folder);
  if (!present.includes("config.json") || !holdWeights(present)) return false;
  const listed = (await readListing(storage, commit))?.map(({ path }) => path);
  if (needsGraph && !present.some(isGraph) && (listed === undefined || listed.some(isGraph))) return false;
  // What the Hub holds isn't known without a listing, but the tokenizer of all weights except GGUF is in a file of its own.
  const tokenizer = present.some((path) => path.endsWith(".gguf")) ? [] : ["tokenizer.json"];
  const needed = listed?.filter((path) => /^(tokenizer(_config)?|modules)\.json$/.test(path)) ?? tokenizer;
  const data = present.filter(isGraph).flatMap((graph) => graphData(graph, listed ?? []));
  return [...needed, ...data, ...(await shards(folder, present))].every((path) => present.includes(path));
}

function isGraph(path: string): boolean {
  return path.endsWith(".onnx");
}

/** Files that the weights' table of contents names: https://huggingface.co/docs/safetensors/index */
async function shards(folder: string, present: readonly string[]): Promise<string[]> {
  const table = "model.safetensors.index.json";
  if (!present.includes(table)) return present.some((path) => /^model-\d+-of-\d+\.safetensors$/.test(path)) ? [table] : [];
  try {
    const { weight_map } = JSON.parse(await readFile(join(folder, table), "utf8")) as { weight_map: object };
    return [...new Set(Object.values(weight_map).map(String))];
  } catch {
    // A damaged table is reported where the model is opened.
    return [];
  }
}
