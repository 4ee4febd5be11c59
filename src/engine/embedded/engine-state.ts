/** The folder that an exact resume needs: weights, both moments of AdamW, and the counters. */
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { ModelError } from "../../errors.ts";
import { readJsonObject, writeJsonAtomically } from "../../files/json-file.ts";
import { replaceFolder } from "../../files/replace-folder.ts";
import type { ModelShape } from "./architecture.ts";
import { readWeights, writeWeights } from "./hf-folder.ts";
import { Parameters } from "./parameters.ts";
import { SafetensorsFile, writeSafetensors } from "./safetensors.ts";

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
export async function saveEngineState(folder: string, parameters: Parameters, counters: EngineCounters): Promise<void> {
  await replaceFolder(folder, async (temporary) => {
    await writeWeights(join(temporary, "weights.safetensors"), parameters);
    await writeSafetensors(
      join(temporary, "optimizer.safetensors"),
      moments.flatMap((moment) =>
        parameters.specs.map(({ name, shape }) => ({ name: `${moment}.${name}`, shape, data: parameters.view(name, moment) })),
      ),
    );
    await writeJsonAtomically(join(temporary, "engine.json"), { formatVersion, shape: parameters.shape, ...counters });
  });
}

/**
 * Reads a state of a model of this shape into parameters of their own, so that a broken file changes nothing.
 * @throws ModelError naming the file and what is wrong: missing, truncated, another model's.
 */
export async function loadEngineState(
  folder: string,
  shape: ModelShape,
): Promise<{ readonly parameters: Parameters; readonly counters: EngineCounters }> {
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
  const counters = {
    step: count(json, "step", file),
    policyVersion: count(json, "policyVersion", file),
    published: json["published"] !== false,
  };
  const parameters = new Parameters(shape);
  await readWeights(join(folder, "weights.safetensors"), parameters);
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
