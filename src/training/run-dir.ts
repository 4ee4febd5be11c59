/**
 * The run folder: its files are the run's only memory.
 * config.yaml, manifest.json, metrics.jsonl, trajectories/step-N.jsonl.gz, evaluations/, checkpoints/, checkpoints.jsonl.
 */
import { appendFile, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { parse, stringify } from "yaml";
import type { Config } from "../config.ts";
import { RunFolderError } from "../errors.ts";
import { readIfPresent, writeAtomically } from "../files/atomic-file.ts";
import { lockFolder } from "../files/folder-lock.ts";
import { writeJsonAtomically } from "../files/json-file.ts";
import { differences } from "./differences.ts";

/** Version of the run folder's layout. */
export const formatVersion = 1;

/** What a run was started with; a resumed run must be started with the same. */
export interface RunManifest {
  readonly formatVersion: number;
  /** SHA-256 of every data file, the corpus and the model folders, by configuration field. */
  readonly inputs: Readonly<Record<string, string>>;
}

/** An open, locked run folder. */
export interface RunFolder {
  readonly path: string;
  /** Whether a run was already there. */
  readonly resumed: boolean;
  appendLine(file: string, line: object): Promise<void>;
  /** Appends a line and drops earlier ones of its step and of later steps: a step that is done again is told once. */
  putLine(file: string, line: { readonly step: number }): Promise<void>;
  /** The lines of a JSONL file of the folder; a half-written last line is left out. */
  readLines<Line>(file: string): Promise<Line[]>;
  /** Drops lines whose `step` lies beyond this one (and a half-written last line). */
  truncateLines(file: string, lastStep: number): Promise<void>;
  /** Writes trajectories/step-N.jsonl.gz. */
  writeTrajectories(step: number, records: readonly object[]): Promise<void>;
  /** Removes trajectory files of later steps, which a killed run may have left. */
  truncateTrajectories(lastStep: number): Promise<void>;
  release(): Promise<void>;
}

/**
 * Opens and locks a run folder. Without `resume` it must not hold a run yet; with it, a run of the same configuration and inputs goes on
 * (and a new one starts where there is none).
 * @throws RunFolderError when the folder is in use, holds a run already, or holds one of another configuration or other data.
 */
export async function openRunFolder(
  path: string,
  run: { readonly config: Config; readonly inputs: Readonly<Record<string, string>>; readonly resume: boolean },
): Promise<RunFolder> {
  await mkdir(join(path, "trajectories"), { recursive: true });
  await mkdir(join(path, "evaluations"), { recursive: true });
  await mkdir(join(path, "checkpoints"), { recursive: true });
  const release = await lockFolder(path);
  try {
    const resumed = await adopt(path, run);
    return new OpenRunFolder(path, resumed, release);
  } catch (error) {
    await release();
    throw error;
  }
}

/** Compares with, or writes, the run's description. The manifest comes last: a folder without one holds no run. */
async function adopt(path: string, run: { config: Config; inputs: Readonly<Record<string, string>>; resume: boolean }): Promise<boolean> {
  const known = await readIfPresent(join(path, "manifest.json"));
  if (known === undefined) {
    await writeAtomically(join(path, "config.yaml"), stringify(run.config));
    await writeJsonAtomically(join(path, "manifest.json"), { formatVersion, inputs: run.inputs } satisfies RunManifest);
    return false;
  }
  if (!run.resume) throw new RunFolderError(`${path} already holds a run: resume it, or choose another folder`);
  const manifest = parseManifest(known, path);
  if (manifest.formatVersion !== formatVersion) {
    throw new RunFolderError(
      `${path} was written in format ${manifest.formatVersion}, this program reads ${formatVersion}: finish the run with the program that began it`,
    );
  }
  const text = await readIfPresent(join(path, "config.yaml"));
  if (text === undefined) throw new RunFolderError(`${path}/config.yaml is missing: restore it, or choose another folder`);
  const config = parse(text) as unknown;
  const changed = [
    ...differences(config, JSON.parse(JSON.stringify(run.config)), ""),
    ...differences(manifest.inputs, run.inputs, "content of "),
  ];
  if (changed.length > 0) {
    throw new RunFolderError(
      `${path} holds a run of another configuration or other data, and can't be resumed with this one:\n${changed.map((line) => `  ${line}`).join("\n")}\nrestore these, or choose another folder`,
    );
  }
  return true;
}

function parseManifest(text: string, folder: string): RunManifest {
  try {
    const manifest = JSON.parse(text) as Partial<RunManifest> | null;
    if (typeof manifest?.formatVersion === "number" && typeof manifest.inputs === "object") return manifest as RunManifest;
  } catch {
    // Told below, like JSON that is something else.
  }
  throw new RunFolderError(`${folder}/manifest.json is not the description of a run: restore it, or choose another folder`);
}

class OpenRunFolder implements RunFolder {
  constructor(
    readonly path: string,
    readonly resumed: boolean,
    readonly release: () => Promise<void>,
  ) {}

  async appendLine(file: string, line: object): Promise<void> {
    await appendFile(join(this.path, file), `${JSON.stringify(line)}\n`);
  }

  async putLine(file: string, line: { readonly step: number }): Promise<void> {
    await this.truncateLines(file, line.step - 1);
    await this.appendLine(file, line);
  }

  async readLines<Line>(file: string): Promise<Line[]> {
    return readJsonLines<Line>(join(this.path, file));
  }

  async truncateLines(file: string, lastStep: number): Promise<void> {
    const lines = await this.readLines<{ step: number }>(file);
    const kept = lines.filter(({ step }) => step <= lastStep);
    if ((await readIfPresent(join(this.path, file))) === undefined) return;
    await writeAtomically(join(this.path, file), kept.map((line) => `${JSON.stringify(line)}\n`).join(""));
  }

  async writeTrajectories(step: number, records: readonly object[]): Promise<void> {
    const text = records.map((record) => `${JSON.stringify(record)}\n`).join("");
    await writeAtomically(join(this.path, "trajectories", `step-${step}.jsonl.gz`), gzipSync(text));
  }

  async truncateTrajectories(lastStep: number): Promise<void> {
    for (const name of await readdir(join(this.path, "trajectories"))) {
      const step = /^step-(\d+)\.jsonl\.gz/.exec(name)?.[1];
      if (step !== undefined && Number(step) > lastStep) await rm(join(this.path, "trajectories", name));
    }
  }
}

/** The lines of a JSONL file; [] when it doesn't exist. A last line without its newline was cut by a kill and is left out. */
export async function readJsonLines<Line>(file: string): Promise<Line[]> {
  const text = (await readIfPresent(file)) ?? "";
  const lines = text.slice(0, text.lastIndexOf("\n") + 1).split("\n");
  return lines.flatMap((line, index) => {
    if (line === "") return [];
    try {
      return [JSON.parse(line) as Line];
    } catch (error) {
      throw new RunFolderError(`${file}:${index + 1}: not JSON (${line.slice(0, 60)}): the file was changed by hand or by a failing disk`, {
        cause: error,
      });
    }
  });
}
