/** What an unfinished warm start keeps on the disk: the engines' states and how far each course is. */
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { TrainableEngine } from "../engine/engine.ts";
import { RunFolderError } from "../errors.ts";
import { readIfPresent } from "../files/atomic-file.ts";
import { writeJsonAtomically } from "../files/json-file.ts";
import { differences } from "./differences.ts";
import { formatVersion } from "./run-dir.ts";
import type { WarmStartScores } from "./warm-start-check.ts";

/** state.json. */
export interface WarmStartState {
  readonly formatVersion: number;
  /** What it was started with; it goes on with the same only. */
  readonly settings: object;
  /** Scores before the first step, where there are any. */
  readonly before?: WarmStartScores;
  /** By course: optimiser steps done, and the folder of the engine's state after them. */
  readonly courses: Readonly<Record<string, { readonly step: number; readonly folder: string }>>;
}

/** Name of the folder within the output folder. */
const stateFolder = "state";

/**
 * The state of an earlier start, or a new one.
 * @throws RunFolderError when the folder holds a warm start and `resume` is off, or one of other settings.
 */
export async function openWarmStartState(out: string, settings: object, resume: boolean): Promise<WarmStartState> {
  const plain = JSON.parse(JSON.stringify(settings)) as object;
  const text = await readIfPresent(join(out, stateFolder, "state.json"));
  if (text === undefined) {
    const used = await readIfPresent(join(out, "warm-start.jsonl"));
    if (used !== undefined) throw new RunFolderError(`${out} holds a finished warm start: name another --out folder, or move it away`);
    await mkdir(join(out, stateFolder), { recursive: true });
    return { formatVersion, settings: plain, courses: {} };
  }
  if (!resume) throw new RunFolderError(`${out} holds a warm start already: go on with --resume, or name another --out folder`);
  const state = parse(text, out);
  const changed = differences(state.settings, plain, "");
  if (changed.length > 0) {
    const list = changed.map((line) => `  ${line}`).join("\n");
    throw new RunFolderError(
      `${out} holds a warm start of other settings, and can't be resumed with these:\n${list}\nrestore them, or name another --out folder`,
    );
  }
  return state;
}

function parse(text: string, out: string): WarmStartState {
  try {
    const state = JSON.parse(text) as Partial<WarmStartState> | null;
    if (state?.formatVersion === formatVersion && state.settings && state.courses) return state as WarmStartState;
  } catch {
    // Told below, like JSON that is something else.
  }
  throw new RunFolderError(
    `${join(out, stateFolder, "state.json")} is not the state of a warm start that this program reads: name another --out folder`,
  );
}

/** Writes state.json. */
export async function writeWarmStartState(out: string, state: WarmStartState): Promise<void> {
  await writeJsonAtomically(join(out, stateFolder, "state.json"), state);
}

/** Saves a course's engine, then the state that names it, then removes the course's earlier ones. */
export async function saveCourse(
  out: string,
  state: WarmStartState,
  course: string,
  step: number,
  engine: Pick<TrainableEngine, "saveState">,
): Promise<WarmStartState> {
  if (state.courses[course]?.step === step) return state;
  const folder = `${course}-step-${step}`;
  await rm(join(out, stateFolder, folder), { recursive: true, force: true });
  await engine.saveState(join(out, stateFolder, folder));
  const next = { ...state, courses: { ...state.courses, [course]: { step, folder } } };
  await writeWarmStartState(out, next);
  for (const name of await readdir(join(out, stateFolder)))
    if (name.startsWith(`${course}-step-`) && name !== folder) await rm(join(out, stateFolder, name), { recursive: true, force: true });
  return next;
}

/** Loads what was saved of a course; returns the steps done. */
export async function loadCourse(
  out: string,
  state: WarmStartState,
  course: string,
  engine: Pick<TrainableEngine, "loadState">,
): Promise<number> {
  const saved = state.courses[course];
  if (!saved) return 0;
  await engine.loadState(join(out, stateFolder, saved.folder));
  return saved.step;
}

/** A finished warm start needs no state. */
export async function removeWarmStartState(out: string): Promise<void> {
  await rm(join(out, stateFolder), { recursive: true, force: true });
}
