/** Model folders in the Hugging Face format: what transformers writes is read here, and the other way round. */
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { readJsonObject, readOptionalJsonObject, writeJsonAtomically } from "../../files/json-file.ts";
import { replaceFolder } from "../../files/replace-folder.ts";
import { ggufConfig } from "../gguf/gguf-config.ts";
import { GgufFile, isGguf } from "../gguf/gguf-file.ts";
import { ggufTokenizer } from "../gguf/gguf-tokenizer.ts";
import { hfConfigFromModelShape, type ModelShape, modelShapeFromHfConfig, type ParameterSpec, parameterSpecs } from "./architecture.ts";
import { mergedWeight } from "./lora.ts";
import { Parameters } from "./parameters.ts";
import { SafetensorsFile, writeSafetensors } from "./safetensors.ts";
import type { TrainedModel } from "./trained-model.ts";
import { fillTensors, openWeights, type WeightSource, type WeightTarget } from "./weight-source.ts";

/** Copied from the folder a model came from when it is written: they don't change by training. */
const companionFiles = [
  "tokenizer.json",
  "tokenizer_config.json",
  "chat_template.jinja",
  "special_tokens_map.json",
  "added_tokens.json",
  "generation_config.json",
] as const;

/** The shape of the model in a folder, from its config.json, or in a GGUF file. @throws ModelError */
export async function readModelShape(folder: string): Promise<ModelShape> {
  if (isGguf(folder)) return modelShapeFromHfConfig(await withGguf(folder, ggufConfig), folder);
  const file = join(folder, "config.json");
  return modelShapeFromHfConfig(await readJsonObject(file), file);
}

/**
 * Reads a model folder, or a GGUF file.
 * @throws ModelError naming the file and tensor: missing, truncated, of a wrong shape, unexpected, NaN or infinite.
 */
export async function loadModelFolder(folder: string, options: { readonly trainable?: boolean } = {}): Promise<Parameters> {
  const parameters = new Parameters(await readModelShape(folder), options);
  await fillWeights(await openWeights(folder), parameters);
  return parameters;
}

/**
 * Reads all weights of a model folder or GGUF file, one tensor in memory after the other, to see that they can be used.
 * @returns how many numbers there are. @throws ModelError as `loadModelFolder` does.
 */
export async function checkWeights(folder: string): Promise<number> {
  const shape = await readModelShape(folder);
  const specs = parameterSpecs(shape);
  const count = ({ shape: sizes }: ParameterSpec) => sizes.reduce((product, size) => product * size, 1);
  const buffer = new Float32Array(specs.reduce((largest, spec) => Math.max(largest, count(spec)), 0));
  await fillWeights(await openWeights(folder), {
    shape,
    specs,
    view: (name) => buffer.subarray(0, count(specs.find((spec) => spec.name === name) as ParameterSpec)),
  });
  return specs.reduce((sum, spec) => sum + count(spec), 0);
}

/**
 * Fills the weights from a safetensors file that holds exactly the model's tensors.
 * @throws ModelError as `loadModelFolder` does.
 */
export async function readWeights(path: string, parameters: Parameters): Promise<void> {
  await fillWeights(await SafetensorsFile.open(path), parameters);
}

function fillWeights(source: WeightSource, parameters: WeightTarget & Pick<Parameters, "shape">): Promise<void> {
  const { shape } = parameters;
  return fillTensors(source, parameters, {
    whole: `a ${shape.architecture} model of this config.json`,
    isDerived: (name) => isDerived(name, shape),
  });
}

/** Tensors that some writers store although they follow from others. */
function isDerived(name: string, shape: ModelShape): boolean {
  return name.endsWith("rotary_emb.inv_freq") || (shape.tiedHead && name === "lm_head.weight");
}

/** The weights as a safetensors file. */
export async function writeWeights(path: string, parameters: Parameters): Promise<void> {
  const tensors = parameters.specs.map(({ name, shape }) => ({ name, shape, data: () => parameters.view(name) }));
  await writeSafetensors(path, tensors);
}

/** The weights as a safetensors file, an adapter merged into them one tensor after the other. */
async function writeMergedWeights(path: string, { base, adapter }: TrainedModel): Promise<void> {
  if (adapter === undefined) return writeWeights(path, base);
  const tensors = base.specs.map((spec) => ({ ...spec, data: () => mergedWeight(spec, base.view(spec.name), adapter) }));
  await writeSafetensors(path, tensors);
}

async function withGguf<Result>(path: string, use: (file: GgufFile) => Promise<Result> | Result): Promise<Result> {
  const file = await GgufFile.open(path);
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}

/** What goes into a written model folder besides the weights. */
export interface ModelFolderOptions {
  /** The folder or GGUF file that the model or its tokenizer came from: tokenizer and generation files are copied as they are. */
  readonly source?: string;
  /** For generation_config.json, where the source has none. */
  readonly endTokenIds?: readonly number[];
}

/**
 * Writes a model folder, replacing one that is there in one act: config.json, model.safetensors and the companions.
 * @throws ModelError naming the folder.
 */
export async function writeModelFolder(folder: string, model: TrainedModel, options: ModelFolderOptions = {}): Promise<void> {
  const { source, endTokenIds = [] } = options;
  await replaceFolder(folder, async (temporary) => {
    if (endTokenIds.length > 0) await writeJsonAtomically(join(temporary, "generation_config.json"), { eos_token_id: endTokenIds });
    const config = hfConfigFromModelShape(model.shape, idFields(await configOf(source)));
    await writeJsonAtomically(join(temporary, "config.json"), config);
    await writeMergedWeights(join(temporary, "model.safetensors"), model);
    if (source !== undefined) await writeCompanions(source, temporary);
  });
}

async function configOf(source: string | undefined): Promise<Record<string, unknown> | undefined> {
  if (source === undefined) return undefined;
  return isGguf(source) ? withGguf(source, ggufConfig) : readOptionalJsonObject(join(source, "config.json"));
}

async function writeCompanions(source: string, folder: string): Promise<void> {
  if (isGguf(source)) {
    const { tokenizer, tokenizerConfig } = await withGguf(source, ggufTokenizer);
    await writeJsonAtomically(join(folder, "tokenizer.json"), tokenizer);
    await writeJsonAtomically(join(folder, "tokenizer_config.json"), tokenizerConfig);
    return;
  }
  for (const file of companionFiles) {
    await copyFile(join(source, file), join(folder, file)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
  }
}

/** `bos_token_id` and the like: of the tokenizer, not of the shape. */
function idFields(config: Record<string, unknown> | undefined): Record<string, unknown> {
  return Object.fromEntries(Object.entries(config ?? {}).filter(([field]) => field.endsWith("_token_id")));
}
