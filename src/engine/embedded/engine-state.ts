/** The folder that an exact resume needs: what is trained (all weights, or an adapter), both moments of AdamW, and the counters. */
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { ModelError } from "../../errors.ts";
import { readJsonObject, writeJsonAtomically } from "../../files/json-file.ts";
import { replaceFolder } from "../../files/replace-folder.ts";
import type { FlatParameters } from "./flat-parameters.ts";
import { readWeights, writeWeights } from "./hf-folder.ts";
import { AdapterParameters } from "./lora.ts";
import { Parameters } from "./parameters.ts";
import { readAdapterWeights, writeAdapterWeights } from "./peft-folder.ts";
import { SafetensorsFile, writeSafetensors } from "./safetensors.ts";
import type { TrainedModel } from "./trained-model.ts";

const formatVersion = 1;
const moments = ["firstMoments", "secondMoments"] as const;

/** What a state holds besides weights and moments. */
export interface EngineCounters {
  /** Optimiser steps taken. */
  readonly step: number;
  readonly policyVersion: number;
  /** Whether these weights are the ones that sampling uses. */
  readonly published: boolean;
}

/**
 * Writes weights.safetensors, optimizer.safetensors and engine.json as one act.
 * @throws ModelError naming the folder when it can't be written.
 */
export async function saveEngineState(folder: string, model: TrainedModel, counters: EngineCounters): Promise<void> {
  const { shape: modelShape, lora, adapter, trainable: parameters } = model;
  await replaceFolder(folder, async (temporary) => {
    const weights = join(temporary, "weights.safetensors");
    await (adapter === undefined ? writeWeights(weights, model.base) : writeAdapterWeights(weights, adapter));
    await writeSafetensors(
      join(temporary, "optimizer.safetensors"),
      moments.flatMap((moment) =>
        parameters.specs.map(({ name, shape }) => ({ name: `${moment}.${name}`, shape, data: () => parameters.view(name, moment) })),
      ),
    );
    await writeJsonAtomically(join(temporary, "engine.json"), { formatVersion, shape: modelShape, ...(lora ? { lora } : {}), ...counters });
  });
}

/**
 * Reads a state of a model of this shape into parameters of their own, so that a broken file changes nothing; of a frozen model only the
 * weights.
 * @throws ModelError naming the file and what is wrong: missing, truncated, another model's.
 */
export async function loadEngineState(
  folder: string,
  { shape, lora, trainable: { gradients } }: TrainedModel,
): Promise<{ readonly parameters: FlatParameters; readonly counters: EngineCounters }> {
  const file = join(folder, "engine.json");
  const json = await readJsonObject(file);
  if (json["formatVersion"] !== formatVersion)
    throw new ModelError(`${file}: formatVersion is ${JSON.stringify(json["formatVersion"])}, this version reads ${formatVersion}`);
  const saved = (json["shape"] ?? {}) as Record<string, unknown>;
  for (const [field, value] of Object.entries(shape)) {
    // What an older version did not write was off.
    if (!isDeepStrictEqual(saved[field] ?? false, value))
      throw new ModelError(
        `${file}: the state is of another model: ${field} is ${JSON.stringify(saved[field])}, the engine's is ${JSON.stringify(value)}`,
      );
  }
  if (!isDeepStrictEqual(json["lora"], lora)) {
    const shown = (value: unknown) => (value === undefined ? "trained as a whole" : `an adapter ${JSON.stringify(value)}`);
    throw new ModelError(`${file}: the state is of another kind of training: ${shown(json["lora"])}, the engine's is ${shown(lora)}`);
  }
  const counters = {
    step: count(json, "step", file),
    policyVersion: count(json, "policyVersion", file),
    published: json["published"] !== false,
  };
  const weights = join(folder, "weights.safetensors");
  const trainable = gradients.length > 0;
  const parameters = lora === undefined ? new Parameters(shape, { trainable }) : new AdapterParameters(shape, lora, { trainable });
  await (parameters instanceof AdapterParameters ? readAdapterWeights(weights, parameters) : readWeights(weights, parameters));
  if (!trainable) return { parameters, counters };
  const optimizer = await SafetensorsFile.open(join(folder, "optimizer.safetensors"));
  try {
    for (const moment of moments) {
      for (const { name, shape: size } of parameters.specs)
        await optimizer.readInto(`${moment}.${name}`, size, parameters.view(name, moment));
    }
  } finally {
    await optimizer.close();
  }
  return { parameters, counters };
}

function count(json: Record<string, unknown>, field: string, file: string): number {
  const value = json[field];
  if (!Number.isSafeInteger(value) || (value as number) < 0)
    throw new ModelError(`${file}: ${field} is ${JSON.stringify(value)}: expected a whole number`);
  return value as number;
}
