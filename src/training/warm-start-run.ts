/** A warm start from beginning to end: each policy's course, its loss curve, its state. */
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import type { TrainableEngine } from "../engine/engine.ts";
import { readIfPresent, writeAtomically } from "../files/atomic-file.ts";
import { Rng } from "../rng.ts";
import type { PolicyName } from "../types.ts";
import { readJsonLines } from "./run-dir.ts";
import { type Demonstration, type WarmStartReport, warmStart } from "./warm-start.ts";
import { loadCourse, saveCourse, type WarmStartState } from "./warm-start-state.ts";

/** What one policy is taught. */
export interface WarmStartCourse {
  /** Names its results and its random stream. */
  readonly name: string;
  readonly policy: PolicyName;
  readonly engine: TrainableEngine;
  readonly demonstrations: readonly Demonstration[];
  readonly learningRate: number;
}

/** How courses are run. */
export interface WarmStartRunOptions {
  /** Where warm-start.jsonl and the state are. */
  readonly out: string;
  readonly state: WarmStartState;
  readonly courses: readonly WarmStartCourse[];
  readonly seed: number;
  readonly steps: number;
  /** Demonstrations an optimiser step. */
  readonly batch: number;
  /** Steps between two saved states. */
  readonly saveEvery: number;
  readonly onStep?: (line: WarmStartLine) => void;
  readonly signal?: AbortSignal;
}

/** A line of warm-start.jsonl. */
export interface WarmStartLine extends WarmStartReport {
  readonly policy: string;
  readonly seconds: number;
}

/** How it ended. */
export interface WarmStartRunResult {
  readonly status: "finished" | "interrupted";
  readonly state: WarmStartState;
}

/** Name of the loss curve's file. */
export const curveFile = "warm-start.jsonl";

/** Runs the courses in order from where their states are; an abort saves and ends after the step under way. */
export async function runWarmStart(options: WarmStartRunOptions): Promise<WarmStartRunResult> {
  const { out, steps, saveEvery, signal } = options;
  let { state } = options;
  for (const course of options.courses) {
    const stepsDone = await loadCourse(out, state, course.name, course.engine);
    await dropLaterLines(join(out, curveFile), course.name, stepsDone);
    let last = stepsDone;
    let started = performance.now();
    await warmStart({
      ...course,
      steps,
      stepsDone,
      batch: batches(course, options),
      warmupSteps: Math.max(1, Math.ceil(steps / 20)),
      constantFraction: 0.6,
      async onStep(report) {
        const line = { policy: course.name, ...report, seconds: (performance.now() - started) / 1000 };
        started = performance.now();
        last = report.step;
        await appendFile(join(out, curveFile), `${JSON.stringify(line)}\n`);
        if (last % saveEvery === 0 && last < steps) state = await saveCourse(out, state, course.name, last, course.engine);
        options.onStep?.(line);
        return "go on";
      },
      ...(signal ? { signal } : {}),
    });
    state = await saveCourse(out, state, course.name, last, course.engine);
    if (last < steps) return { status: "interrupted", state };
  }
  return { status: "finished", state };
}

/** The demonstrations of a step: passes over all of them, each in an order of its own. The step alone tells the place. */
export function batches(
  { name, demonstrations }: Pick<WarmStartCourse, "name" | "demonstrations">,
  { seed, batch }: Pick<WarmStartRunOptions, "seed" | "batch">,
): (step: number) => Promise<Demonstration[]> {
  const orders = new Map<number, Demonstration[]>();
  const orderOf = (epoch: number) => {
    const order = orders.get(epoch) ?? Rng.stream(seed, "warm-start-order", name, epoch).shuffle(demonstrations);
    orders.set(epoch, order);
    return order;
  };
  return async (step) =>
    Array.from({ length: batch }, (_, index) => {
      const place = step * batch + index;
      return orderOf(Math.floor(place / demonstrations.length))[place % demonstrations.length] as Demonstration;
    });
}

/** Lines of steps that a killed process made after its last saved state: they are made again. */
async function dropLaterLines(file: string, policy: string, step: number): Promise<void> {
  if ((await readIfPresent(file)) === undefined) return;
  const lines = await readJsonLines<WarmStartLine>(file);
  const kept = lines.filter((line) => line.policy !== policy || line.step <= step);
  await writeAtomically(file, kept.map((line) => `${JSON.stringify(line)}\n`).join(""));
}
