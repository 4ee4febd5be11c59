/** Reads run folders: which kind one is, and what a report needs of it. */
import { existsSync, readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { type Config, type SystemName, systemNames } from "../config.ts";
import { RunFolderError } from "../errors.ts";
import { type EvaluatedSystem, type ReportSources, systemKeyOf } from "../evaluation/report/build-report.ts";
import type { LearningCurve, TrainingGroup } from "../evaluation/report/report-data.ts";
import { readIfPresent } from "../files/atomic-file.ts";
import { readJsonLines } from "../training/run-dir.ts";
import type { QuestionRolloutRecord } from "../training/trajectory-record.ts";
import { heldOut, readEvaluation } from "./evaluation-files.ts";
import { loadConfig } from "./load-config.ts";

/** study.json: what a study has done so far. */
export interface StudyState {
  readonly formatVersion: 1;
  readonly seeds: readonly number[];
  /** SHA-256 of every input, by configuration field. */
  readonly inputs: Readonly<Record<string, string>>;
  /** Wall-clock time spent, over all sittings. */
  readonly seconds: number;
  readonly peakMemoryBytes: number;
}

/** Where a study keeps one system's run. */
export const systemFolder = (study: string, seed: number, system: SystemName) => join(study, `seed-${seed}`, system);
/** Where a study keeps the evaluation of the warm start with one of the retrieval systems. */
export const warmStartFolder = (study: string, system: "retrieval-only" | "fixed-ranker") => join(study, "warm-start", system);

/** The study's state; undefined when the folder holds no study. */
export async function readStudyState(folder: string): Promise<StudyState | undefined> {
  const text = await readIfPresent(join(folder, "study.json"));
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as StudyState;
  } catch (error) {
    throw new RunFolderError(`${folder}/study.json is not JSON: restore it or choose another folder`, { cause: error });
  }
}

/** The configuration of a run or study folder. @throws RunFolderError when it holds neither. */
export function readRunConfig(folder: string): Config {
  const file = join(folder, "config.yaml");
  if (!existsSync(file))
    throw new RunFolderError(`${folder} holds no run (no config.yaml): name a folder made by cosearch train or cosearch study`);
  return loadConfig({ file });
}

/** The single run that a folder stands for: itself, or a study's joint run of the first seed. */
export async function singleRunFolder(folder: string): Promise<string> {
  const state = await readStudyState(folder);
  return state ? systemFolder(folder, state.seeds[0] ?? 0, "cosearch") : folder;
}

/** Everything a report says about a run folder, be it a study or a single run. */
export async function readReportSources(folder: string): Promise<ReportSources> {
  const config = readRunConfig(folder);
  const state = await readStudyState(folder);
  const configuration = readFileSync(join(folder, "config.yaml"), "utf8");
  const seeds = state?.seeds ?? [config.seed];
  const runs = state
    ? seeds.flatMap((seed) => systemNames.map((system) => ({ system, seed, path: systemFolder(folder, seed, system) })))
    : [{ system: config.system, seed: config.seed, path: folder }];
  const evaluated: EvaluatedSystem[] = [];
  const curves: LearningCurve[] = [];
  if (state) {
    for (const [key, system] of [["warmStart", "retrieval-only"] as const, ["warmStartRanker", "fixed-ranker"] as const]) {
      const evaluation = await readEvaluation(warmStartFolder(folder, system), heldOut);
      if (evaluation) evaluated.push({ key, records: evaluation.records });
    }
  }
  for (const { system, seed, path } of runs) {
    const key = systemKeyOf[system];
    const evaluation = await readEvaluation(path, heldOut);
    if (evaluation) evaluated.push({ key, seed, records: evaluation.records, alarm: evaluation.header.alarm });
    curves.push({ key, seed, steps: await readCurve(path) });
  }
  const cosearch = runs.find(({ system }) => system === "cosearch");
  return {
    config,
    configuration,
    seeds,
    evaluated,
    curves,
    trainingGroups: cosearch ? await readTrainingGroups(cosearch.path) : [],
    ...(state ? { seconds: state.seconds, peakMemoryBytes: state.peakMemoryBytes } : {}),
  };
}

/** metrics.jsonl, with dev scores and derived counts beside what each step measured. */
async function readCurve(runFolder: string): Promise<Record<string, number>[]> {
  const metrics = await readJsonLines<Record<string, number> & { step: number }>(join(runFolder, "metrics.jsonl"));
  const dev = await readJsonLines<{ step: number; f1: number }>(join(runFolder, "evaluations", "dev.jsonl"));
  const steps = new Map<number, Record<string, number>>();
  for (const line of metrics) {
    const numbers = Object.fromEntries(Object.entries(line).filter(([, value]) => typeof value === "number"));
    const { rankerCallsScored, rankerCallsDropped } = numbers;
    const kept = rankerCallsScored !== undefined && rankerCallsDropped !== undefined ? rankerCallsScored - rankerCallsDropped : undefined;
    steps.set(line.step, kept === undefined ? numbers : { ...numbers, rankerCallsKept: kept });
  }
  for (const { step, f1 } of dev) steps.set(step, { step, ...steps.get(step), devF1: f1 });
  return [...steps.values()].sort((first, second) => (first.step ?? 0) - (second.step ?? 0));
}

/** The two most telling groups about the middle of training: the answer in reach, rewards apart, few enough members to read. */
async function readTrainingGroups(runFolder: string): Promise<TrainingGroup[]> {
  const folder = join(runFolder, "trajectories");
  const names = existsSync(folder) ? await readdir(folder) : [];
  const steps = names.flatMap((name) => Number(/^step-(\d+)\.jsonl\.gz$/.exec(name)?.[1] ?? Number.NaN)).filter(Number.isFinite);
  const middle = Math.max(...steps, 0) / 2;
  steps.sort((first, second) => Math.abs(first - middle) - Math.abs(second - middle) || first - second);
  const chosen: TrainingGroup[] = [];
  for (const step of steps.slice(0, 40)) {
    const text = gunzipSync(readFileSync(join(folder, `step-${step}.jsonl.gz`))).toString("utf8");
    const records = text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as QuestionRolloutRecord]));
    for (const record of records) {
      const group = record.rankerGroups.find(
        ({ members, answerInCandidates }) =>
          answerInCandidates === true && members.length <= 8 && new Set(members.map(({ reward }) => reward)).size >= 2,
      );
      if (!group) continue;
      chosen.push({
        step,
        question: record.question,
        goldAnswers: record.goldAnswers,
        representativeQuery: group.representativeQuery ?? group.key,
        answerInCandidates: true,
        members: group.members,
      });
      if (chosen.length === 2) return chosen;
    }
  }
  return chosen;
}
