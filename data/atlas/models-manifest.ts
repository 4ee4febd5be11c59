/** models.json: which settings made the committed checkpoints, and the SHA-256 of every file of theirs. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The checkpoints of the atlas folder. */
export const modelFolders = ["agent", "ranker"] as const;
/** Name of a checkpoint's folder. */
export type ModelFolder = (typeof modelFolders)[number];

/** How a checkpoint was trained: the seed of its weights and demonstrations, and when the training ends. */
export interface WarmStartSettings {
  readonly seed: number;
  /** Optimiser steps of the schedule. */
  readonly steps: number;
  /** The training ends at the first report whose dev Hit@1 is at least this. */
  readonly stopAtHitAt1?: number;
  /** Optimiser steps of the course on first hops that follows. */
  readonly firstHopSteps?: number;
}

/** The content of models.json. */
export interface ModelsManifest {
  readonly training: Readonly<Record<ModelFolder, WarmStartSettings>>;
  /** Path within the atlas folder -> SHA-256 of the file, in hexadecimal. */
  readonly sha256: Readonly<Record<string, string>>;
}

/** The manifest of the checkpoints that stand in `folder`/agent and `folder`/ranker. */
export function modelsManifest(folder: string, training: ModelsManifest["training"]): ModelsManifest {
  const paths = modelFolders.flatMap((model) =>
    readdirSync(join(folder, model))
      .sort()
      .map((name) => `${model}/${name}`),
  );
  const sha256 = Object.fromEntries(
    paths.map((path) => [
      path,
      createHash("sha256")
        .update(readFileSync(join(folder, path)))
        .digest("hex"),
    ]),
  );
  return { training, sha256 };
}
