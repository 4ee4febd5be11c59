import { join } from "node:path";
import { ModelError } from "../../errors.ts";
import { readIfPresent } from "../../files/atomic-file.ts";
import { readOptionalJsonObject } from "../../files/json-file.ts";
import type { Pooling } from "./pool-vectors.ts";

/** What modules.json of sentence-transformers says of a model folder. */
export interface EncoderModules {
  /** Where the transformer's own files are, relative to the folder. */
  readonly transformerFolder: string;
  /** Absent: the folder does not say. */
  readonly pooling?: Pooling;
  /** Of a pooled vector, where the folder says it. */
  readonly width?: number;
  /** Absent: the folder does not say. */
  readonly normalize?: boolean;
  /** Types of modules after pooling that only the graph itself can have, e.g. Dense. */
  readonly others: readonly string[];
}

const poolingNames: Readonly<Record<string, Pooling>> = { mean: "mean", cls: "cls", lasttoken: "last" };
/** The older spelling: a boolean a mode. */
const poolingFlags: Readonly<Record<string, string>> = {
  pooling_mode_cls_token: "cls",
  pooling_mode_mean_tokens: "mean",
  pooling_mode_max_tokens: "max",
  pooling_mode_mean_sqrt_len_tokens: "mean_sqrt_len_tokens",
  pooling_mode_weightedmean_tokens: "weightedmean",
  pooling_mode_lasttoken: "lasttoken",
};

/**
 * Reads modules.json and 1_Pooling/config.json, where there are such.
 * @param pooling What is asked for instead of the folder's pooling.
 * @throws ModelError for files that can't be read, and for a pooling that is none of mean, cls and last.
 */
export async function readEncoderModules(folder: string, pooling: Pooling | undefined): Promise<EncoderModules> {
  const file = join(folder, "modules.json");
  const text = await readIfPresent(file);
  const modules = text === undefined ? [] : parseModules(text, file);
  const find = (kind: string) => modules.find((module) => module.kind === kind);
  const poolingFile = join(folder, find("Pooling")?.path ?? "1_Pooling", "config.json");
  const settings = await readOptionalJsonObject(poolingFile);
  const width = settings?.["word_embedding_dimension"] ?? settings?.["embedding_dimension"];
  const asked = pooling ?? (settings && poolingIn(settings, poolingFile));
  return {
    transformerFolder: find("Transformer")?.path ?? "",
    ...(asked === undefined ? {} : { pooling: asked }),
    ...(typeof width === "number" ? { width } : {}),
    ...(text === undefined ? {} : { normalize: find("Normalize") !== undefined }),
    others: modules.map(({ kind }) => kind).filter((kind) => !["Transformer", "Pooling", "Normalize"].includes(kind)),
  };
}

function parseModules(text: string, file: string): { readonly kind: string; readonly path: string }[] {
  try {
    const list = JSON.parse(text) as { readonly type: string; readonly path: string }[];
    return list.map(({ type, path }) => ({ kind: type.split(".").at(-1) ?? "", path: String(path) }));
  } catch (error) {
    throw new ModelError(`${file} is no list of modules with type and path (${(error as Error).message}): take it from the model again`, {
      cause: error,
    });
  }
}

function poolingIn(settings: Readonly<Record<string, unknown>>, file: string): Pooling {
  if (settings["include_prompt"] === false) {
    throw new ModelError(`${file}: include_prompt false (prefixes left out of the pooling) is not supported: choose another model`);
  }
  const named = settings["pooling_mode"];
  const modes =
    named === undefined
      ? Object.keys(poolingFlags)
          .filter((key) => settings[key] === true)
          .map((key) => poolingFlags[key])
      : [named].flat();
  const known = modes.length === 1 ? poolingNames[String(modes[0])] : modes.length === 0 ? "mean" : undefined;
  if (known !== undefined) return known;
  throw new ModelError(
    `${file}: pooling ${modes.join(" with ")} is not supported (mean, cls and lasttoken are): choose another model, or set retrieval.embedder.pooling if you know it to fit`,
  );
}
