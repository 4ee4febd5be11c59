/** Checkpoints: everything an exact resume needs. All randomness is derived from (seed, step), so that is the engines' states and the step. */
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { TrainableEngine } from "../engine/engine.ts";
import { ModelError, RunFolderError } from "../errors.ts";
import { readIfPresent } from "../files/atomic-file.ts";
import { writeJsonAtomically } from "../files/json-file.ts";
import type { PolicyName } from "../types.ts";
import { formatVersion } from "./run-dir.ts";

/** Greedy scores on dev questions. */
export interface DevScores {
  readonly questions: number;
  readonly f1: number;
  readonly em: number;
  readonly searches: number;
  readonly formatValidity: number;
}

/** manifest.json of a checkpoint, written last: a folder without it is no checkpoint. */
export interface CheckpointManifest {
  readonly formatVersion: number;
  /** Training steps behind it; 0 is the beginning. */
  readonly step: number;
  /** Folder of each engine's state, within the checkpoint. */
  readonly engines: Partial<Record<PolicyName, string>>;
  /** Size in bytes of every file, so that a truncated one is found before it is loaded. */
  readonly files: Readonly<Record<string, number>>;
  readonly dev?: DevScores;
}

/** A whole checkpoint: its folder and its manifest. */
export interface Checkpoint {
  readonly folder: string;
  readonly manifest: CheckpointManifest;
}

/** The engines that a checkpoint holds. */
export type TrainedEngines = { readonly main: Pick<TrainableEngine, "saveState" | "loadState"> } & {
  readonly ranker?: Pick<TrainableEngine, "saveState" | "loadState">;
};

const policies: readonly PolicyName[] = ["main", "ranker"];

/**
 * Saves checkpoints/step-N under a temporary name and renames it when it is whole.
 * @throws RunFolderError when writing fails (a full disk, say); earlier checkpoints stay as they were and no part of this one stays.
 */
export async function saveCheckpoint(runFolder: string, step: number, engines: TrainedEngines, dev?: DevScores): Promise<Checkpoint> {
  const folder = join(runFolder, "checkpoints", `step-${step}`);
  const draft = join(runFolder, "checkpoints", `.step-${step}.partial`);
  try {
    await rm(draft, { recursive: true, force: true });
    await mkdir(draft);
    const saved: Partial<Record<PolicyName, string>> = {};
    for (const policy of policies) {
      const engine = engines[policy];
      if (!engine) continue;
      await engine.saveState(join(draft, policy));
      saved[policy] = policy;
    }
    const files = await fileSizes(draft);
    const manifest: CheckpointManifest = { formatVersion, step, engines: saved, files, ...(dev ? { dev } : {}) };
    await writeJsonAtomically(join(draft, "manifest.json"), manifest);
    // Only a folder without a manifest, which is no checkpoint, can stand here: a step is saved once.
    await rm(folder, { recursive: true, force: true });
    await rename(draft, folder);
    return { folder, manifest };
  } catch (error) {
    await rm(draft, { recursive: true, force: true }).catch(() => undefined);
    const { code, message } = error as NodeJS.ErrnoException;
    const what = code === "ENOSPC" || code === "EDQUOT" ? "the disk is full" : message;
    throw new RunFolderError(
      `${folder} could not be saved: ${what}. Earlier checkpoints are intact: free space or choose another disk, then resume the run`,
      { cause: error },
    );
  }
}

/** Adds dev scores to a checkpoint that was saved without (the run was stopped while it was being evaluated). */
export async function addDevScores(checkpoint: Checkpoint, dev: DevScores): Promise<Checkpoint> {
  const manifest: CheckpointManifest = { ...checkpoint.manifest, dev };
  await writeJsonAtomically(join(checkpoint.folder, "manifest.json"), manifest);
  return { folder: checkpoint.folder, manifest };
}

/** Loads the engines' states. @throws ModelError naming a file that is missing or has the wrong size. */
export async function loadCheckpoint(checkpoint: Checkpoint, engines: TrainedEngines): Promise<void> {
  for (const [file, bytes] of Object.entries(checkpoint.manifest.files)) {
    const path = join(checkpoint.folder, file);
    const found = await stat(path).catch(() => undefined);
    if (!found) throw new ModelError(`${path} is missing: restore it, or delete ${checkpoint.folder} to resume from an earlier checkpoint`);
    if (found.size !== bytes) {
      throw new ModelError(
        `${path} has ${found.size} bytes instead of ${bytes}: restore it, or delete ${checkpoint.folder} to resume from an earlier checkpoint`,
      );
    }
  }
  for (const policy of policies) {
    const state = checkpoint.manifest.engines[policy];
    const engine = engines[policy];
    if (state !== undefined && engine) await engine.loadState(join(checkpoint.folder, state));
  }
}

/** All whole checkpoints of a run folder, the earliest first. */
export async function listCheckpoints(runFolder: string): Promise<Checkpoint[]> {
  const parent = join(runFolder, "checkpoints");
  const names = (await readdir(parent).catch(() => [])).filter((name) => /^step-\d+$/.test(name));
  const checkpoints = await Promise.all(
    names.map(async (name) => {
      const folder = join(parent, name);
      const text = await readIfPresent(join(folder, "manifest.json"));
      return text === undefined ? [] : [{ folder, manifest: parseManifest(text, folder) }];
    }),
  );
  return checkpoints.flat().sort((a, b) => a.manifest.step - b.manifest.step);
}

/**
 * The checkpoint that a run is judged by: the best on dev (the later one where two are equal: it has learnt more), or the last one when dev was never evaluated.
 * @throws RunFolderError when there is none.
 */
export async function selectedCheckpoint(runFolder: string): Promise<Checkpoint> {
  const checkpoints = await listCheckpoints(runFolder);
  const selected = bestOf(checkpoints) ?? checkpoints.at(-1);
  if (!selected) throw new RunFolderError(`${runFolder} holds no checkpoint yet: train first`);
  return selected;
}

/** The checkpoint with the best dev F1 (of equals the latest), if dev was evaluated. */
function bestOf(checkpoints: readonly Checkpoint[]): Checkpoint | undefined {
  let best: Checkpoint | undefined;
  for (const checkpoint of checkpoints) {
    const f1 = checkpoint.manifest.dev?.f1;
    if (f1 !== undefined && f1 >= (best?.manifest.dev?.f1 ?? 0)) best = checkpoint;
  }
  return best;
}

/** Removes what is neither among the newest `keep` nor the best, and what a killed process left half-written. */
export async function pruneCheckpoints(runFolder: string, keep: number): Promise<void> {
  const checkpoints = await listCheckpoints(runFolder);
  const kept = new Set([...checkpoints.slice(-keep), bestOf(checkpoints)]);
  for (const checkpoint of checkpoints) if (!kept.has(checkpoint)) await rm(checkpoint.folder, { recursive: true });
  const parent = join(runFolder, "checkpoints");
  for (const name of await readdir(parent)) if (name.endsWith(".partial")) await rm(join(parent, name), { recursive: true });
}

function parseManifest(text: string, folder: string): CheckpointManifest {
  try {
    const manifest = JSON.parse(text) as Partial<CheckpointManifest> | null;
    if (typeof manifest?.step === "number" && manifest.engines && manifest.files) return manifest as CheckpointManifest;
  } catch {
    // Told below, like JSON that is something else.
  }
  throw new ModelError(
    `${join(folder, "manifest.json")} is not a checkpoint's manifest: delete ${folder} to resume from an earlier checkpoint`,
  );
}

async function fileSizes(folder: string): Promise<Record<string, number>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const sizes = await Promise.all(files.map(async (file) => [file.slice(folder.length + 1), (await stat(file)).size] as const));
  return Object.fromEntries(sizes);
}
