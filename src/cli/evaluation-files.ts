/** An evaluation in a run folder: evaluations/<name>.jsonl holds a record a question, evaluations/<name>.json, written last, what they are of. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { SystemName } from "../config.ts";
import { RunFolderError } from "../errors.ts";
import type { QuestionRecord } from "../evaluation/record.ts";
import { readIfPresent, writeAtomically } from "../files/atomic-file.ts";
import { writeJsonAtomically } from "../files/json-file.ts";
import { readJsonLines } from "../training/run-dir.ts";

/** What the records are of. */
export interface EvaluationHeader {
  readonly system: SystemName;
  readonly seed: number;
  /** Training steps behind the evaluated weights. */
  readonly step: number;
  readonly questions: number;
  /** Why training ended early, if the alarm stopped it. */
  readonly alarm?: string;
}

/** An evaluation as it lies in a run folder. */
export interface StoredEvaluation {
  readonly header: EvaluationHeader;
  readonly records: readonly QuestionRecord[];
}

/** Name of the evaluation on held-out questions. */
export const heldOut = "test";

/** Writes the records, then the header: an evaluation without one is not whole. */
export async function writeEvaluation(runFolder: string, name: string, { header, records }: StoredEvaluation): Promise<void> {
  const folder = join(runFolder, "evaluations");
  await mkdir(folder, { recursive: true });
  await writeAtomically(join(folder, `${name}.jsonl`), records.map((record) => `${JSON.stringify(record)}\n`).join(""));
  await writeJsonAtomically(join(folder, `${name}.json`), header);
}

/** The header alone; undefined when there is no whole evaluation of that name. */
export async function readEvaluationHeader(runFolder: string, name: string): Promise<EvaluationHeader | undefined> {
  const file = join(runFolder, "evaluations", `${name}.json`);
  const text = await readIfPresent(file);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as EvaluationHeader;
  } catch (error) {
    throw new RunFolderError(`${file} is not JSON: delete it and evaluate again`, { cause: error });
  }
}

/** Header and records; undefined when there is no whole evaluation of that name. @throws RunFolderError when records are missing. */
export async function readEvaluation(runFolder: string, name: string): Promise<StoredEvaluation | undefined> {
  const header = await readEvaluationHeader(runFolder, name);
  if (!header) return undefined;
  const records = await readJsonLines<QuestionRecord>(join(runFolder, "evaluations", `${name}.jsonl`));
  if (records.length !== header.questions) {
    throw new RunFolderError(
      `${runFolder}/evaluations/${name}.jsonl holds ${records.length} records instead of ${header.questions}: evaluate again`,
    );
  }
  return { header, records };
}
