import { existsSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { type Config, configSchema, type SystemName } from "../config.ts";
import { AlarmError, ConfigError, RunFolderError } from "../errors.ts";
import { systemKeyOf } from "../evaluation/report/build-report.ts";
import { systemLabels } from "../evaluation/report/report-data.ts";
import { resultTable } from "../evaluation/report/result-table.ts";
import { writeAtomically } from "../files/atomic-file.ts";
import { lockFolder } from "../files/folder-lock.ts";
import { writeJsonAtomically } from "../files/json-file.ts";
import { ensureIndex } from "../retrieval/open-retriever.ts";
import { loadQuestions } from "../training/dataset.ts";
import { differences } from "../training/differences.ts";
import { allValues, defineStrictCommand, flags } from "./command.ts";
import { requireTrainable } from "./endpoint-policy.ts";
import { heldOut, readEvaluationHeader } from "./evaluation-files.ts";
import { Interrupted, listenForInterrupt } from "./interrupt.ts";
import { loadConfig } from "./load-config.ts";
import { writeReport } from "./report-files.ts";
import { readRunConfig, readStudyState, type StudyState, systemFolder, warmStartFolder } from "./run-folders.ts";
import { showingBuild } from "./showing-build.ts";
import type { StudyJob } from "./study-child.ts";
import { runLanes } from "./study-lanes.ts";
import { StudyProgress } from "./study-progress.ts";
import { fingerprints, inputPaths } from "./wiring.ts";

/** `cosearch study`: the four systems, trained with the same budget and evaluated on the same questions, for every seed. */
export const study = defineStrictCommand({
  meta: { name: "study", description: "Train and evaluate the four systems with the same budget, then write report.html and summary.json" },
  args: {
    config: flags.config,
    set: flags.set,
    seed: flags.seed,
    seeds: { type: "string", description: "several seeds, e.g. 1,2,3; default the configuration's", valueHint: "N,N,..." },
    steps: flags.steps,
    run: {
      ...flags.run,
      description: "study folder; default runs/<name>-study. What is finished in it stays, what was interrupted goes on",
    },
    json: { ...flags.json, description: "print the summary as JSON and nothing else" },
  },
  examples: [
    "cosearch study --config configs/atlas-quick.yaml --run runs/atlas-quick",
    "cosearch study --config configs/atlas.yaml --seeds 1,2,3 --run runs/atlas-study",
  ],
  async run({ args, rawArgs }) {
    if (args.config === undefined)
      throw new ConfigError("study: name a configuration with --config FILE, e.g. --config configs/atlas-quick.yaml");
    const base = loadConfig({ file: args.config, set: allValues("set", rawArgs), seed: args.seed, steps: args.steps });
    const seeds = args.seeds === undefined ? [base.seed] : readSeeds(args.seeds);
    const config = withSystem(base, "cosearch", seeds[0] as number);
    const folder = args.run ?? `runs/${config.name}-study`;
    const interrupt = listenForInterrupt(() => process.stderr.write("stopping at a safe place (Ctrl-C again to stop at once) ...\n"));
    try {
      const alarms = await runStudy(config, seeds, folder, args.json === true, interrupt.signal);
      const written = await writeReport(folder);
      if (args.json) process.stdout.write(readFileSync(written.summary, "utf8"));
      else
        process.stdout.write(
          `\n${resultTable(written.data)}\n\nreport:  ${written.html}\nsummary: ${written.summary}\nask:     cosearch ask "..." --run ${folder}\n`,
        );
      if (alarms.length > 0) throw new AlarmError(alarms.join("\n"));
    } finally {
      interrupt.release();
    }
  },
});

/** Runs what is not finished yet; returns what the alarm had to say. */
async function runStudy(config: Config, seeds: readonly number[], folder: string, silent: boolean, signal: AbortSignal): Promise<string[]> {
  requireTrainable({ ...config, system: "cosearch" });
  // Once, before several jobs open it.
  await showingBuild(silent, signal, (options) => ensureIndex(config.retrieval, options));
  const inputs = await studyInputs(config);
  await mkdir(folder, { recursive: true });
  const release = await lockFolder(folder);
  try {
    const before = await adopt(folder, config, seeds, inputs);
    const jobs = studyJobs(config, seeds, folder);
    const finished = await Promise.all(jobs.map(async (job) => (await readEvaluationHeader(job.folder, heldOut)) !== undefined));
    const open = jobs.filter((_, index) => !finished[index]);
    const lanes = Math.max(1, Math.min(2, Math.floor(availableParallelism() / config.engine.threads)));
    const progress = new StudyProgress(open, silent);
    progress.begin(jobs.length, lanes);
    const started = performance.now();
    const save = (peakMemoryBytes: number) =>
      writeState(folder, {
        ...before,
        seconds: before.seconds + (performance.now() - started) / 1000,
        peakMemoryBytes: Math.max(before.peakMemoryBytes, peakMemoryBytes),
      });
    const { outcomes, peakMemoryBytes } = await runLanes(open, {
      lanes,
      signal,
      onProgress: (job, message) => progress.update(job, message),
      onEnd: (job, outcome) => progress.end(job, outcome),
    });
    await save(open.length > 0 ? peakMemoryBytes : 0);
    for (const [job, outcome] of outcomes) {
      if (outcome.kind === "failed") throw asError(outcome.code, `${job.name}: ${outcome.message}`);
    }
    if (signal.aborted) throw new Interrupted(`interrupted; everything is saved: the same command goes on where it stopped (${folder})`);
    const headers = await Promise.all(jobs.map(async (job) => ({ job, header: await readEvaluationHeader(job.folder, heldOut) })));
    return headers.flatMap(({ job, header }) => (header?.alarm === undefined ? [] : [`${job.name}: ${header.alarm}`]));
  } finally {
    await release();
  }
}

/** The longest jobs first, so that the lanes end together. */
function studyJobs(config: Config, seeds: readonly number[], folder: string): StudyJob[] {
  const order: readonly SystemName[] = ["cosearch", "fixed-ranker", "retrieval-only", "oracle"];
  const several = seeds.length > 1;
  const systems = order.flatMap((system) =>
    seeds.map(
      (seed): StudyJob => ({
        kind: "train",
        name: `${systemLabels[systemKeyOf[system]].name}${several ? `, seed ${seed}` : ""}`,
        config: withSystem(config, system, seed),
        folder: systemFolder(folder, seed, system),
      }),
    ),
  );
  const warmStart = (["retrieval-only", "fixed-ranker"] as const).map(
    (system): StudyJob => ({
      kind: "warm-start",
      name: systemLabels[system === "retrieval-only" ? "warmStart" : "warmStartRanker"].name,
      config: withSystem(config, system, config.seed),
      folder: warmStartFolder(folder, system),
    }),
  );
  return [...systems, ...warmStart];
}

function withSystem(config: Config, system: SystemName, seed: number): Config {
  if (config.ranker.model === undefined)
    throw new ConfigError("ranker.model: is needed by a study, which trains fixed-ranker and cosearch: name a model folder");
  return configSchema.parse({ ...config, system, seed });
}

/** Begins the study folder, or makes sure that it holds this very study. */
async function adopt(folder: string, config: Config, seeds: readonly number[], inputs: Record<string, string>): Promise<StudyState> {
  const known = await readStudyState(folder);
  if (!known) {
    if (existsSync(join(folder, "manifest.json")))
      throw new RunFolderError(`${folder} holds a single run, not a study: choose another folder`);
    await writeAtomically(join(folder, "config.yaml"), stringify(config));
    const state: StudyState = { formatVersion: 1, seeds, inputs, seconds: 0, peakMemoryBytes: 0 };
    await writeState(folder, state);
    return state;
  }
  const plain = (value: Config) => JSON.parse(JSON.stringify({ ...value, seed: undefined })) as unknown;
  const changed = [...differences(plain(readRunConfig(folder)), plain(config), ""), ...differences(known.inputs, inputs, "content of ")];
  if (changed.length > 0) {
    const list = changed.map((line) => `  ${line}`).join("\n");
    throw new RunFolderError(
      `${folder} holds a study of another configuration or other data:\n${list}\nrestore these, or choose another folder with --run`,
    );
  }
  const state = { ...known, seeds };
  await writeState(folder, state);
  return state;
}

function writeState(folder: string, state: StudyState): Promise<void> {
  return writeJsonAtomically(join(folder, "study.json"), state);
}

/** Fingerprints of the inputs. @throws ConfigError for one that isn't there, DataError for test questions that can't be read. */
async function studyInputs(config: Config): Promise<Record<string, string>> {
  for (const [field, path] of await inputPaths(config)) {
    if (!existsSync(path)) throw new ConfigError(`${field}: ${path} does not exist: correct the path or make the file`);
  }
  // Test questions are read once training is over; a broken line must not wait that long.
  await loadQuestions(config.data.test);
  return fingerprints(config);
}

function readSeeds(text: string): number[] {
  const seeds = text.split(",").map((part) => (/^\s*\d+\s*$/.test(part) ? Number(part) : Number.NaN));
  if (seeds.some((seed) => !(seed <= 4294967295)) || new Set(seeds).size < seeds.length) {
    throw new ConfigError(`--seeds ${text}: expected different whole numbers from 0 to 4294967295, e.g. --seeds 1,2,3`);
  }
  return seeds;
}

/** A job's failure with the class that gives its exit code. */
function asError(code: number, message: string): Error {
  if (code === 2) return new ConfigError(message);
  if (code === 3) return new RunFolderError(message);
  if (code === 4) return new AlarmError(message);
  return new Error(message);
}
