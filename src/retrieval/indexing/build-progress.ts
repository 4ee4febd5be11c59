/** What an unfinished build remembers, and what it tells while it works. */
import { join } from "node:path";
import { RunFolderError } from "../../errors.ts";
import { readIfPresent } from "../../files/atomic-file.ts";
import { writeJsonAtomically } from "../../files/json-file.ts";
import type { EmbedderIdentity } from "../embedding/embedder.ts";
import type { CorpusSource } from "./corpus-sources.ts";
import type { IndexEstimate } from "./estimate.ts";
import { goOnCommand } from "./go-on-command.ts";
import { indexFiles } from "./index-folder.ts";
import { settingDifferences } from "./index-settings.ts";
import { type IndexManifest, indexFormatVersion } from "./manifest.ts";

/** Parts of a build that are done once for all; vectors know themselves how far they are. */
export type FinishedPart = "documents" | "embedder" | "vectors" | "bm25";

/** build.json: what an unfinished index is made from, and which parts are complete. */
export interface BuildState {
  readonly formatVersion: number;
  /** Everything that decides the content of the index. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly sources: readonly CorpusSource[];
  readonly done: readonly FinishedPart[];
  /** The command that the build is, as `buildArguments` gives it; builds begun before it was noted lack it. */
  readonly arguments?: readonly string[];
  /** Known when the documents are done. */
  readonly documents?: IndexManifest["documents"];
  /** Of the embedder that the first vectors were made with. */
  readonly identity?: EmbedderIdentity;
}

/** What a build tells while it works. */
export type BuildEvent =
  | { readonly kind: "estimate"; readonly estimate: IndexEstimate }
  /** An unfinished build goes on; these parts of it are complete. */
  | { readonly kind: "resumed"; readonly done: readonly FinishedPart[] }
  /** The folder holds the finished index already; names and sizes of its sources are as they were. */
  | { readonly kind: "unchanged"; readonly index: FinishedIndex }
  /** So many files of other kinds (`pdf`; "" without an extension) lie in folders of texts, and are not read. */
  | { readonly kind: "others"; readonly files: number; readonly kinds: readonly string[] }
  /** An earlier build left vectors of this many rows. */
  | { readonly kind: "kept"; readonly rows: number }
  | { readonly kind: "documents"; readonly count: number; readonly skipped: number }
  /** So many passages were longer than the embedder's longest input; their ends are not in their vectors. */
  | { readonly kind: "truncated"; readonly passages: number }
  /** `done` of `total` passages (reading: bytes); `words`: the rate, once it is known. */
  | { readonly kind: "progress"; readonly stage: BuildStage; readonly done: number; readonly total: number; readonly words: string };

/** A finished index that was asked for again. */
export interface FinishedIndex extends Pick<IndexManifest, "kind" | "sources"> {
  /** The kind that was asked for; one side of a hybrid index may be. */
  readonly asked: IndexManifest["kind"];
  /** Names of sources that were changed since the index was finished. */
  readonly changedSince: readonly string[];
}

/** The stages of a build, in order. */
export type BuildStage =
  | "reading"
  | "word statistics"
  | "embedding"
  | "copying vectors"
  | "vector index"
  | "BM25"
  | "checking documents"
  | "checking vectors";

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

/** Keeps build.json. */
export class BuildJournal {
  private constructor(
    private readonly folder: string,
    private current: BuildState,
  ) {}

  /**
   * Goes on with the unfinished build of a folder that has a finished part, or begins one.
   * @throws RunFolderError when the unfinished one is of other settings or another corpus, naming each difference.
   */
  static async open(folder: string, begun: Pick<BuildState, "settings" | "sources" | "arguments">): Promise<BuildJournal> {
    const now = plain(begun);
    const found = await readBuildState(folder);
    // Without a finished part nothing would be kept.
    const before = found === undefined || found.done.length === 0 ? undefined : found;
    if (before !== undefined) checkSameBuild(folder, before, now);
    const journal = new BuildJournal(folder, before ?? { formatVersion: indexFormatVersion, ...now, done: [] });
    if (before === undefined) await journal.note({});
    return journal;
  }

  get state(): BuildState {
    return this.current;
  }

  has(part: FinishedPart): boolean {
    return this.current.done.includes(part);
  }

  /** Remembers more, as one act; `finished` is complete from now on. */
  async note(more: Pick<BuildState, "documents" | "identity">, finished?: FinishedPart): Promise<void> {
    const done = finished === undefined ? this.current.done : [...this.current.done, finished];
    this.current = { ...this.current, ...more, done };
    await writeJsonAtomically(join(this.folder, indexFiles.build), this.current);
  }
}

/** As it will be read again: without entries that are undefined. */
function plain<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}

/** @throws RunFolderError when what a build began with is not what it is to go on with, naming each difference. */
function checkSameBuild(folder: string, before: BuildState, now: Pick<BuildState, "settings" | "sources">): void {
  const byName = (sources: readonly CorpusSource[]) =>
    Object.fromEntries(
      sources.map(({ name, bytes, modified }, index) => [`${index + 1} (${name})`, { bytes, modified: new Date(modified).toISOString() }]),
    );
  // Where all passages were usable, it doesn't matter whether others would have been left out.
  const settings = before.documents?.skipped === 0 ? { ...now.settings, skipBad: before.settings["skipBad"] } : now.settings;
  const differences = [
    ...settingDifferences(before.settings, settings),
    ...settingDifferences(byName(before.sources), byName(now.sources), "corpus"),
  ];
  if (differences.length === 0) return;
  throw new RunFolderError(
    `${folder} holds an unfinished index of other settings:${differences.map((line) => `\n  ${line}`).join("")}\ngo on with what it began with (${goOnCommand(folder, before)}), or start over with --fresh`,
  );
}
