/** Progress on stderr: a bar with an estimate on a terminal, plain lines elsewhere, silence with --json. */
import cliProgress from "cli-progress";
import { duration } from "../evaluation/report/scale.ts";

/** Where a task tells how far it is. */
export interface Progress {
  /** `done` of `total`, with a few words about where things stand. */
  update(done: number, total: number, words: string): void;
  /** One line of its own. */
  line(text: string): void;
  stop(): void;
}

/** Progress of one task. `every`: on anything but a terminal, lines are this many units apart. */
export function createProgress({ name, silent, every = 5 }: { name: string; silent: boolean; every?: number }): Progress {
  if (silent) return { update() {}, line() {}, stop() {} };
  return process.stderr.isTTY ? barProgress(name) : lineProgress(name, every);
}

function barProgress(name: string): Progress {
  const left = remaining();
  let bar: cliProgress.SingleBar | undefined;
  const stop = () => {
    bar?.stop();
    bar = undefined;
  };
  return {
    update(done, total, words) {
      const shown = { words, left: left(done, total) };
      if (bar) return bar.update(done, shown);
      const format = `${name} {bar} {value}/{total}{left}  {words}`;
      bar = new cliProgress.SingleBar({ format, stream: process.stderr, hideCursor: true, barsize: 24 }, cliProgress.Presets.rect);
      bar.start(total, done, shown);
    },
    line(text) {
      stop();
      process.stderr.write(`${text}\n`);
    },
    stop,
  };
}

function lineProgress(name: string, every: number): Progress {
  const started = performance.now();
  const left = remaining();
  return {
    update(done, total, words) {
      const still = left(done, total);
      if (done % every !== 0 && done !== total) return;
      process.stderr.write(`${name}  ${done}/${total}  ${words}  (${duration((performance.now() - started) / 1000)}${still})\n`);
    },
    line(text) {
      process.stderr.write(`${text}\n`);
    },
    stop() {},
  };
}

/** `, 3 min 5 s left`, judged by the pace since the first call (which may come late, in a resumed run); empty at first. */
function remaining(): (done: number, total: number) => string {
  let first: { readonly done: number; readonly at: number } | undefined;
  return (done, total) => {
    const now = performance.now();
    first ??= { done, at: now };
    const seconds = estimate(done - first.done, total - done, (now - first.at) / 1000);
    return seconds === undefined ? "" : `, ${duration(seconds)} left`;
  };
}

/** Seconds left, from how long `done` units took; undefined before the first. */
export function estimate(done: number, left: number, seconds: number): number | undefined {
  return done > 0 ? (seconds / done) * left : undefined;
}
