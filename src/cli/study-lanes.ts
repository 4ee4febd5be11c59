/** Runs a study's jobs side by side, each in a process of its own, so that every job has its cores and its memory to itself. */
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { linkedAbort } from "../endpoint/linked-abort.ts";
import type { ChildMessage, ParentMessage, StudyJob } from "./study-child.ts";

/** How one job ended. */
export type JobOutcome = Exclude<ChildMessage, { kind: "progress" }>;

/** How jobs are run, and who hears of them. */
export interface LaneOptions {
  readonly lanes: number;
  readonly onProgress: (job: StudyJob, progress: Extract<ChildMessage, { kind: "progress" }>) => void;
  readonly onEnd: (job: StudyJob, outcome: JobOutcome) => void;
  /** Jobs under way save and stop; no further one starts. */
  readonly signal: AbortSignal;
}

/** How a study's jobs ended, and what they needed. */
export interface LaneResult {
  readonly outcomes: ReadonlyMap<StudyJob, JobOutcome>;
  /** This process and the jobs that ran at the same time, each at its largest so far, added up: an upper bound of what was used at once. */
  readonly peakMemoryBytes: number;
}

/** Works through the jobs in order. A failed job stops the others at a safe place. */
export async function runLanes(jobs: readonly StudyJob[], options: LaneOptions): Promise<LaneResult> {
  const queue = jobs.slice();
  const outcomes = new Map<StudyJob, JobOutcome>();
  const failure = new AbortController();
  const { controller, unlink } = linkedAbort([options.signal, failure.signal]);
  const { signal } = controller;
  const memory = new Map<StudyJob, number>();
  let peakMemoryBytes = 0;
  const remember = (job: StudyJob, bytes: number) => {
    memory.set(job, bytes);
    peakMemoryBytes = Math.max(
      peakMemoryBytes,
      [...memory.values()].reduce((sum, used) => sum + used, process.resourceUsage().maxRSS * 1024),
    );
  };
  const lane = async (): Promise<void> => {
    for (let job = queue.shift(); job && !signal.aborted; job = queue.shift()) {
      const current = job;
      const outcome = await runJob(current, signal, (progress) => {
        remember(current, progress.memoryBytes);
        options.onProgress(current, progress);
      });
      remember(current, outcome.memoryBytes);
      memory.delete(current);
      outcomes.set(current, outcome);
      options.onEnd(current, outcome);
      if (outcome.kind === "failed") failure.abort();
    }
  };
  await Promise.all(Array.from({ length: options.lanes }, lane));
  unlink();
  return { outcomes, peakMemoryBytes };
}

/** Under `tsx` the sources run as they are, otherwise the built files. */
const childFile = fileURLToPath(new URL(import.meta.url.endsWith(".ts") ? "./study-child.ts" : "./study-child.js", import.meta.url));

function runJob(
  job: StudyJob,
  signal: AbortSignal,
  onProgress: (progress: Extract<ChildMessage, { kind: "progress" }>) => void,
): Promise<JobOutcome> {
  return new Promise((resolve) => {
    const child: ChildProcess = fork(childFile, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    const send = (message: ParentMessage) => child.connected && child.send(message);
    const stop = () => send({ kind: "stop" });
    let outcome: JobOutcome | undefined;
    child.on("message", (message: ChildMessage) => {
      if (message.kind === "progress") onProgress(message);
      else outcome = message;
    });
    child.on("error", (error) => {
      outcome ??= { kind: "failed", memoryBytes: 0, code: 1, message: `the process of ${job.name} could not be started: ${error.message}` };
    });
    child.on("close", (code, killedBy) => {
      signal.removeEventListener("abort", stop);
      const why = killedBy ? `was killed by ${killedBy} (out of memory?)` : `ended with code ${code}`;
      resolve(outcome ?? { kind: "failed", memoryBytes: 0, code: 1, message: `the process of ${job.name} ${why}` });
    });
    signal.addEventListener("abort", stop);
    send({ kind: "job", job });
    if (signal.aborted) stop();
  });
}
