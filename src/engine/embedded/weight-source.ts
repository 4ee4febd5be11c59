/** Where weights are read from: one safetensors file, or several with an index. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ModelError } from "../../errors.ts";
import { readOptionalJsonObject } from "../../files/json-file.ts";
import { ggufConfig } from "../gguf/gguf-config.ts";
import { GgufFile, isGguf } from "../gguf/gguf-file.ts";
import { GgufWeights } from "../gguf/gguf-weights.ts";
import type { ParameterSpec } from "./architecture.ts";
import { SafetensorsFile } from "./safetensors.ts";

/** An open set of named tensors, read one by one as float32. */
export interface WeightSource {
  /** Named in errors. */
  readonly path: string;
  readonly names: readonly string[];
  /**
   * Reads a tensor into `target`.
   * @throws ModelError naming the file and tensor when it is missing, has another shape or is truncated.
   */
  readInto(name: string, shape: readonly number[], target: Float32Array): Promise<void>;
  close(): Promise<void>;
}

/** Of models whose weights are in several files. */
export const shardIndexName = "model.safetensors.index.json";

/**
 * The weights of a Hugging Face folder (`model.safetensors`, or the shards that `model.safetensors.index.json` names) or of a GGUF file.
 * @throws ModelError naming a shard that is missing or does not hold what the index says.
 */
export async function openWeights(folder: string): Promise<WeightSource> {
  if (isGguf(folder)) {
    const file = await GgufFile.open(folder);
    return new GgufWeights(file, await ggufConfig(file));
  }
  const indexPath = join(folder, shardIndexName);
  const index = await readOptionalJsonObject(indexPath);
  return index === undefined ? SafetensorsFile.open(join(folder, "model.safetensors")) : openShards(folder, indexPath, index);
}

async function openShard(folder: string, file: string): Promise<SafetensorsFile> {
  const path = join(folder, file);
  if (existsSync(path)) return SafetensorsFile.open(path);
  throw new ModelError(`${path} is missing: ${shardIndexName} says that it holds a part of the weights; fetch the model again`);
}

async function openShards(folder: string, indexPath: string, index: Record<string, unknown>): Promise<WeightSource> {
  const map = index["weight_map"];
  if (typeof map !== "object" || map === null)
    throw new ModelError(`${indexPath}: weight_map is missing: it must say which file holds which tensor`);
  const fileOf = new Map(Object.entries(map as Record<string, unknown>));
  const files = new Map<string, SafetensorsFile>();
  const close = async () => {
    await Promise.all([...files.values()].map((file) => file.close()));
  };
  try {
    for (const [name, file] of fileOf) {
      if (typeof file !== "string" || /[\\/]/.test(file)) {
        throw new ModelError(
          `${indexPath}: tensor ${name} is said to be in ${JSON.stringify(file)}: expected the name of a file beside it`,
        );
      }
      if (!files.has(file)) files.set(file, await openShard(folder, file));
    }
  } catch (error) {
    await close();
    throw error;
  }
  return {
    path: indexPath,
    names: [...fileOf.keys()],
    async readInto(name, shape, target) {
      const file = files.get(fileOf.get(name) as string);
      if (file === undefined) throw new ModelError(`${indexPath}: tensor ${name} is missing`);
      await file.readInto(name, shape, target);
    },
    close,
  };
}

/** Where tensors go, one after the other. */
export interface WeightTarget {
  readonly specs: readonly Pick<ParameterSpec, "name" | "shape">[];
  view(name: string): Float32Array;
}

/** What a source of weights must hold. */
export interface ExpectedTensors {
  /** What the tensors make up, for errors, e.g. `a llama model of this config.json`. */
  readonly whole: string;
  /** Tensors that may be there besides, because they follow from others. */
  readonly isDerived?: (name: string) => boolean;
  /** A tensor's name in the source. Default: the same. */
  readonly nameInSource?: (name: string) => string;
}

/**
 * Fills the weights from a source that holds exactly these tensors, and closes it.
 * @throws ModelError naming the file and tensor: missing, of a wrong shape, unexpected, NaN or infinite.
 */
export async function fillTensors(source: WeightSource, parameters: WeightTarget, expected: ExpectedTensors): Promise<void> {
  const { path } = source;
  const { whole, isDerived = () => false, nameInSource = (name: string) => name } = expected;
  try {
    const known = new Set(parameters.specs.map((spec) => nameInSource(spec.name)));
    const surplus = source.names.find((name) => !known.has(name) && !isDerived(name));
    if (surplus !== undefined) throw new ModelError(`${path}: tensor ${surplus} does not belong to ${whole}`);
    for (const { name, shape } of parameters.specs) {
      const weights = parameters.view(name);
      await source.readInto(nameInSource(name), shape, weights);
      const bad = weights.findIndex((weight) => !Number.isFinite(weight));
      if (bad >= 0)
        throw new ModelError(
          `${path}: tensor ${nameInSource(name)} holds ${weights[bad]} at index ${bad}: the weights are damaged: fetch or export them again`,
        );
    }
  } finally {
    await source.close();
  }
}
