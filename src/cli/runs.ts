import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { systemNames } from "../config.ts";
import { score } from "../evaluation/report/scale.ts";
import { readIfPresent } from "../files/atomic-file.ts";
import { listCheckpoints } from "../training/checkpoint.ts";
import type { StepMetrics } from "../training/metrics.ts";
import { readJsonLines } from "../training/run-dir.ts";
import { defineStrictCommand, flags } from "./command.ts";
import { heldOut, readEvaluationHeader } from "./evaluation-files.ts";
import { readRunConfig, readStudyState, systemFolder } from "./run-folders.ts";

interface RunLine {
  readonly run: string;
  readonly system: string;
  readonly seed: number;
  /** A lock file names a process; whether it still runs is not looked into. */
  readonly state: "evaluated" | "trained" | "locked" | "unfinished" | "unreadable";
  readonly step: number;
  readonly steps: number;
  readonly mainReward?: number;
  readonly devF1?: number;
}

/** `cosearch runs`: the run folders below a folder, with how far each one is. */
export const runs = defineStrictCommand({
  meta: { name: "runs", description: "List the run folders, with how far each one is" },
  args: { run: { ...flags.run, description: "folder to look in; default runs" }, json: flags.json },
  examples: ["cosearch runs", "cosearch runs --run runs/atlas-study --json"],
  async run({ args }) {
    const parent = args.run ?? "runs";
    const lines = (await findRuns(parent)).sort((first, second) => (first.run < second.run ? -1 : 1));
    if (args.json) return void process.stdout.write(`${JSON.stringify(lines, null, 2)}\n`);
    if (lines.length === 0) return void process.stdout.write(`no runs in ${parent}\n`);
    const width = Math.max(...lines.map(({ run }) => run.length));
    for (const line of lines) {
      const figures = [`reward ${score(line.mainReward, 2)}`, ...(line.devF1 === undefined ? [] : [`dev F1 ${score(line.devF1, 2)}`])].join(
        "  ",
      );
      process.stdout.write(`${line.run.padEnd(width)}  ${line.state.padEnd(10)}  step ${line.step}/${line.steps}  ${figures}\n`);
    }
  },
});

async function findRuns(folder: string): Promise<RunLine[]> {
  const state = await readStudyState(folder).catch(() => undefined);
  if (state) {
    const folders = state.seeds.flatMap((seed) => systemNames.map((system) => systemFolder(folder, seed, system)));
    return Promise.all(folders.filter((path) => existsSync(join(path, "manifest.json"))).map(describeRun));
  }
  if (existsSync(join(folder, "manifest.json")) && existsSync(join(folder, "config.yaml"))) return [await describeRun(folder)];
  const entries = existsSync(folder) ? await readdir(folder, { withFileTypes: true }) : [];
  return (await Promise.all(entries.filter((entry) => entry.isDirectory()).map((entry) => findRuns(join(folder, entry.name))))).flat();
}

async function describeRun(run: string): Promise<RunLine> {
  try {
    const config = readRunConfig(run);
    const metrics = await readJsonLines<StepMetrics>(join(run, "metrics.jsonl"));
    const dev = await readJsonLines<{ f1: number }>(join(run, "evaluations", "dev.jsonl"));
    const last = metrics.at(-1);
    const finished = (await listCheckpoints(run)).some(({ manifest }) => manifest.step === config.training.steps);
    const locked = (await readIfPresent(join(run, "lock.json"))) !== undefined;
    const evaluated = (await readEvaluationHeader(run, heldOut)) !== undefined;
    const devF1 = dev.length > 0 ? Math.max(...dev.map(({ f1 }) => f1)) : undefined;
    return {
      run,
      system: config.system,
      seed: config.seed,
      state: locked ? "locked" : evaluated ? "evaluated" : finished ? "trained" : "unfinished",
      step: last?.step ?? 0,
      steps: config.training.steps,
      ...(last?.mainReward === undefined ? {} : { mainReward: last.mainReward }),
      ...(devF1 === undefined ? {} : { devF1 }),
    };
  } catch {
    return { run, system: "", seed: 0, state: "unreadable", step: 0, steps: 0 };
  }
}
