/** Adapter folders as PEFT and vLLM read and write them: adapter_config.json and adapter_model.safetensors. */
import { join } from "node:path";
import { ModelError } from "../../errors.ts";
import { readJsonObject, writeJsonAtomically } from "../../files/json-file.ts";
import { replaceFolder } from "../../files/replace-folder.ts";
import type { LoraShape, LoraTarget } from "../engine.ts";
import { loraTargets } from "../engine.ts";
import type { ModelShape } from "./architecture.ts";
import { AdapterParameters } from "./lora.ts";
import { SafetensorsFile, writeSafetensors } from "./safetensors.ts";
import { fillTensors } from "./weight-source.ts";

const weightsName = "adapter_model.safetensors";
const nameInFile = (name: string) => `base_model.model.${name}`;

/** Settings of PEFT that change what an adapter computes, and the values at which they don't. */
const neutral: Readonly<Record<string, readonly unknown[]>> = {
  bias: [undefined, null, "none"],
  fan_in_fan_out: [undefined, null, false],
  lora_bias: [undefined, null, false],
  use_dora: [undefined, null, false],
  use_qalora: [undefined, null, false],
  use_bdlora: [undefined, null],
  modules_to_save: [undefined, null],
  trainable_token_indices: [undefined, null],
  target_parameters: [undefined, null],
  layer_replication: [undefined, null],
  layers_to_transform: [undefined, null],
  exclude_modules: [undefined, null],
  alora_invocation_tokens: [undefined, null],
};

/** The shape of the adapter in a folder. @throws ModelError naming the file, the field and what is supported. */
export async function readLoraShape(folder: string): Promise<LoraShape> {
  const file = join(folder, "adapter_config.json");
  const config = await readJsonObject(file);
  const problem = (field: string, expected: string) =>
    new ModelError(`${file}: ${field} is ${JSON.stringify(config[field]) ?? "missing"}: ${expected}`);
  if (config["peft_type"] !== "LORA") throw problem("peft_type", 'only "LORA" is supported');
  for (const [field, values] of Object.entries(neutral)) {
    if (!values.includes(config[field]))
      throw problem(field, `only ${JSON.stringify(values.at(-1))} is supported: merge the adapter with peft`);
  }
  for (const field of ["rank_pattern", "alpha_pattern"]) {
    if (Object.keys(config[field] ?? {}).length > 0)
      throw problem(field, "only one rank and alpha for all layers is supported: merge the adapter with peft");
  }
  const { r: rank, lora_alpha: alpha, target_modules: names } = config;
  if (typeof rank !== "number" || !Number.isInteger(rank) || rank < 1) throw problem("r", "expected a positive integer");
  if (typeof alpha !== "number" || !(alpha > 0)) throw problem("lora_alpha", "expected a positive number");
  const targets = loraTargets.filter((target) => Array.isArray(names) && names.includes(target));
  if (!Array.isArray(names) || targets.length !== names.length || targets.length === 0) {
    throw problem("target_modules", `expected a list of ${loraTargets.join(", ")}`);
  }
  return { rank, alpha, ...(config["use_rslora"] === true ? { rankStabilised: true } : {}), targets };
}

/**
 * Reads an adapter for a model of this shape.
 * @throws ModelError as `readLoraShape` does, and for an adapter that was made for another model, naming the tensor.
 */
export async function readAdapterFolder(folder: string, shape: ModelShape, options: { readonly trainable?: boolean } = {}) {
  const adapter = new AdapterParameters(shape, await readLoraShape(folder), options);
  await readAdapterWeights(join(folder, weightsName), adapter);
  return adapter;
}

/** Fills the adapter's weights from a safetensors file. @throws ModelError */
export async function readAdapterWeights(path: string, adapter: AdapterParameters): Promise<void> {
  const { architecture, layers, hiddenSize } = adapter.shape;
  await fillTensors(await SafetensorsFile.open(path), adapter, {
    whole: `an adapter of this base model (${architecture}, ${layers} layers, hidden size ${hiddenSize})`,
    nameInSource: nameInFile,
  });
}

/** The adapter's weights as a safetensors file, under PEFT's names. */
export async function writeAdapterWeights(path: string, adapter: AdapterParameters): Promise<void> {
  const tensors = adapter.specs.map(({ name, shape }) => ({ name: nameInFile(name), shape, data: () => adapter.view(name) }));
  await writeSafetensors(path, tensors);
}

/**
 * Writes an adapter folder, replacing one that is there in one act.
 * @param baseModel What `base_model_name_or_path` says: where other tools find the base model.
 */
export async function writeAdapterFolder(folder: string, adapter: AdapterParameters, baseModel: string): Promise<void> {
  const { rank, alpha, rankStabilised, targets } = adapter.lora;
  await replaceFolder(folder, async (temporary) => {
    await writeAdapterWeights(join(temporary, weightsName), adapter);
    await writeJsonAtomically(join(temporary, "adapter_config.json"), {
      peft_type: "LORA",
      task_type: "CAUSAL_LM",
      base_model_name_or_path: baseModel,
      r: rank,
      lora_alpha: alpha,
      lora_dropout: 0,
      use_rslora: rankStabilised ?? false,
      target_modules: targets satisfies readonly LoraTarget[],
      bias: "none",
      fan_in_fan_out: false,
      init_lora_weights: true,
      inference_mode: true,
      modules_to_save: null,
    });
  });
}
