/** What an unfinished build remembers, and what it tells while it works. */
import { join } from "node:path";
import { RunFolderError } from "../../errors.ts";
import { readIfPresent } from "../../files/atomic-file.ts";
import { writeJsonAtomically } from "../../files/json-file.ts";
import type { CorpusSource } from "./corpus-sources.ts";
import type { IndexEstimate } from "./estimate.ts";
import { indexFiles } from "./index-folder.ts";
import { settingDifferences } from "./index-settings.ts";
import { indexFormatVersion } from "./manifest.ts";

/** Parts of a build that are done once for all; vectors know themselves how far they are. */
export type FinishedPart = "documents" | "embedder" | "vectors" | "bm25";

/** build.json: what an unfinished index is made from, and which parts are complete. */
export interface BuildState {
  readonly formatVersion: number;
  /** Everything that decides the content of the index. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly sources: readonly CorpusSource[];
  readonly done: readonly FinishedPart[];
  /** Passages left out, known when the documents are done. */
  readonly skipped: number;
}

/** What a build tells while it works. */
export type BuildEvent =
  | { readonly kind: "estimate"; readonly estimate: IndexEstimate }
  /** An unfinished build goes on. */
  | { readonly kind: "resumed"; readonly documents: number; readonly rows: number }
  | { readonly kind: "progress"; readonly stage: BuildStage; readonly done: number; readonly total: number; readonly words: string }
  /** How long the vectors will take, once the first blocks are done. */
  | { readonly kind: "pace"; readonly perSecond: number; readonly secondsLeft: number };

/** The stages of a build, in order. */
export type BuildStage = "reading" | "word statistics" | "embedding" | "vector index" | "BM25";

/** The state of an unfinished build; undefined where there is none. @throws RunFolderError when it can't be read. */
export async function readBuildState(folder: string): Promise<BuildState | undefined> {
  const text = await readIfPresent(join(folder, indexFiles.build));
  if (text === undefined) return undefined;
  try {
    const state = JSON.parse(text) as BuildState;
    if (state.formatVersion === indexFormatVersion && Array.isArray(state.done)) return state;
  } catch {
    // Told below, as one of another version is.
  }
  throw new RunFolderError(`${folder}/${indexFiles.build} is not of this version: start over with --fresh`);
}

/** Remembers where a build stands, as one act. */
export async function writeBuildState(folder: string, state: BuildState): Promise<void> {
  await writeJsonAtomically(join(folder, indexFiles.build), state);
}

/** @throws RunFolderError when what a build began with is not what it is to go on with, naming each difference. */
export function checkSameBuild(folder: string, before: BuildState, now: Pick<BuildState, "settings" | "sources">): void {
  const byName = (sources: readonly CorpusSource[]) =>
    Object.fromEntries(sources.map(({ name, bytes, modified }) => [name, { bytes, modified: new Date(modified).toISOString() }]));
  const differences = [
    ...settingDifferences(before.settings, now.settings),
    ...settingDifferences(byName(before.sources), byName(now.sources), "corpus"),
  ];
  if (differences.length === 0) return;
  throw new RunFolderError(
    `${folder} holds an unfinished index of other settings:${differences.map((line) => `\n  ${line}`).join("")}\ngo on with what it began with, or start over with --fresh`,
  );
}
