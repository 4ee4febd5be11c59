/** What the commands `cosearch index …` share: their flags, and the settings that come of them. */
import type { ArgsDef } from "citty";
import { type RetrievalConfig, vectorIndexKinds } from "../config.ts";
import { ConfigError } from "../errors.ts";
import { allValues, flags } from "./command.ts";
import { loadRetrievalConfig, type Override } from "./load-config.ts";

/** A flag and the configuration key that it sets. */
interface KeyFlag {
  readonly flag: string;
  readonly key: string;
}

/** Flags of every command that opens an index. */
export const indexFlags = {
  config: { ...flags.config, description: "YAML configuration, of which the section retrieval is read; flags win" },
  set: { ...flags.set, description: "override one key, e.g. --set retrieval.k1=1.2; may be given several times" },
  index: { type: "string", description: "index folder (retrieval.index.folder)", valueHint: "DIR" },
  kind: { type: "string", description: "dense, bm25 or hybrid", valueHint: "KIND" },
  embedder: {
    type: "string",
    description: "hashed (no download), onnx (run here) or endpoint (a server); a new index: hashed by default",
    valueHint: "KIND",
  },
  model: {
    type: "string",
    description: "the embedder's model: a folder, a Hugging Face name, or what the endpoint calls it",
    valueHint: "NAME",
  },
  url: { type: "string", description: "embedder endpoint: base address, e.g. http://127.0.0.1:8080/v1", valueHint: "URL" },
  json: flags.json,
} as const satisfies ArgsDef;

/** Flags of the commands that make an index. */
export const makingFlags = {
  corpus: {
    type: "string",
    description: "passages: a file or folder, or hf://datasets/OWNER/NAME/FILE; may be given several times",
    valueHint: "PATH",
  },
  format: { type: "string", description: "auto, jsonl, dpr, parquet or text; default auto", valueHint: "FORMAT" },
  vectors: { type: "string", description: `${vectorIndexKinds.join(", ")}; default exact`, valueHint: "KIND" },
  "skip-bad": { type: "boolean", description: "leave unusable passages out and list them, instead of stopping at the first" },
  fresh: { type: "boolean", description: "start over, whatever index the folder holds" },
  force: { type: "boolean", description: "go on although disk or memory seem too small" },
} as const satisfies ArgsDef;

const keyFlags: readonly KeyFlag[] = [
  { flag: "index", key: "retrieval.index.folder" },
  { flag: "kind", key: "retrieval.kind" },
  { flag: "embedder", key: "retrieval.embedder.kind" },
  { flag: "model", key: "retrieval.embedder.model" },
  { flag: "url", key: "retrieval.embedder.url" },
  { flag: "format", key: "retrieval.format" },
  { flag: "vectors", key: "retrieval.index.kind" },
];

/** The checked retrieval section, and the index folder that it must name. */
export interface IndexTarget {
  readonly config: RetrievalConfig;
  readonly folder: string;
}

/** @throws ConfigError for what can't be used, and when no index folder is named. */
export function indexTarget(command: string, rawArgs: readonly string[]): IndexTarget {
  const overrides: Override[] = keyFlags.flatMap(({ flag, key }) => {
    const value = allValues(flag, rawArgs).at(-1);
    return value === undefined ? [] : [{ flag: `--${flag}`, key, value }];
  });
  const corpora = allValues("corpus", rawArgs);
  if (corpora.length > 0) overrides.push({ flag: "--corpus", key: "retrieval.corpus", value: corpora });
  if (rawArgs.includes("--skip-bad")) overrides.push({ flag: "--skip-bad", key: "retrieval.skipBad", value: true });
  const file = allValues("config", rawArgs).at(-1);
  const set = allValues("set", rawArgs);
  const { retrieval } = loadRetrievalConfig({ ...(file === undefined ? {} : { file }), set, overrides });
  const { folder } = retrieval.index;
  if (folder === undefined) throw new ConfigError(`${command}: name the index folder with --index DIR`);
  return { config: retrieval, folder };
}
