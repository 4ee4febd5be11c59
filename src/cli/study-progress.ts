/** What a study prints while it runs: a line per system every few steps, with how much of the whole is done and how long it still takes. */
import { duration } from "../evaluation/report/scale.ts";
import { estimate } from "./progress.ts";
import type { ChildMessage, StudyJob } from "./study-child.ts";
import type { JobOutcome } from "./study-lanes.ts";

/** About how long the systems take, relative to one another: a ranker adds sampling, a trained one an update. */
const cost = { cosearch: 2, "fixed-ranker": 1.4, "retrieval-only": 1, oracle: 1 } as const;
const warmStartCost = 0.15;

/** Prints a study's progress on stderr and estimates the time left from the jobs' shares. */
export class StudyProgress {
  private readonly started = performance.now();
  private readonly done = new Map<StudyJob, number>();
  private readonly nameWidth: number;
  /** Shares that earlier sittings had done already say nothing about this one's speed. */
  private readonly head = new Map<StudyJob, number>();

  constructor(
    private readonly jobs: readonly StudyJob[],
    private readonly silent: boolean,
  ) {
    this.nameWidth = Math.max(0, ...jobs.map(({ name }) => name.length));
  }

  begin(allJobs: number, lanes: number): void {
    const open = this.jobs.length;
    const already = allJobs - open;
    this.print(
      `${open} ${open === 1 ? "job" : "jobs"}${already > 0 ? ` (${already} already finished)` : ""}, ${lanes === 1 ? "one at a time" : `${lanes} side by side`}`,
    );
  }

  update(job: StudyJob, { share, words, milestone }: Extract<ChildMessage, { kind: "progress" }>): void {
    if (!this.head.has(job)) this.head.set(job, share);
    this.done.set(job, share);
    if (milestone) this.line(job, words);
  }

  end(job: StudyJob, outcome: JobOutcome): void {
    if (outcome.kind === "finished") {
      this.done.set(job, 1);
      this.line(job, outcome.alarm === undefined ? "finished" : `alarm: ${outcome.alarm}`);
    } else this.line(job, outcome.kind);
  }

  private line(job: StudyJob, words: string): void {
    const seconds = (performance.now() - this.started) / 1000;
    const sum = (shareOf: (one: StudyJob) => number) => this.jobs.reduce((total, one) => total + costOf(one) * shareOf(one), 0);
    const made = sum((one) => (this.done.get(one) ?? 0) - (this.head.get(one) ?? 0));
    const left = estimate(
      made,
      sum((one) => 1 - (this.done.get(one) ?? 0)),
      seconds,
    );
    const percent = Math.floor((100 * sum((one) => this.done.get(one) ?? 0)) / sum(() => 1));
    const overall = `${percent} %, ${left === undefined || percent === 0 ? "" : `${duration(left)} left, `}${duration(seconds)} so far`;
    this.print(`${job.name.padEnd(this.nameWidth)}  ${words.padEnd(64)}  [${overall}]`);
  }

  private print(text: string): void {
    if (!this.silent) process.stderr.write(`${text}\n`);
  }
}

function costOf({ kind, config }: StudyJob): number {
  return kind === "train" ? cost[config.system] : warmStartCost;
}
