/** Progress on stderr: a bar with an estimate on a terminal, plain lines elsewhere, silence with --json. */
import cliProgress from "cli-progress";
import { duration } from "../evaluation/report/scale.ts";

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
  let bar: cliProgress.SingleBar | undefined;
  const stop = () => {
    bar?.stop();
    bar = undefined;
  };
  return {
    update(done, total, words) {
      if (!bar) {
        const format = `${name} {bar} {value}/{total}  {eta_formatted} left  {words}`;
        bar = new cliProgress.SingleBar(
          { format, stream: process.stderr, hideCursor: true, etaBuffer: 20, barsize: 24 },
          cliProgress.Presets.rect,
        );
        bar.start(total, done, { words });
      } else bar.update(done, { words });
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
  let first: { done: number; at: number } | undefined;
  return {
    update(done, total, words) {
      first ??= { done, at: performance.now() };
      if (done % every !== 0 && done !== total) return;
      const left = estimate(done - first.done, total - done, (performance.now() - first.at) / 1000);
      const elapsed = duration((performance.now() - started) / 1000);
      process.stderr.write(`${name}  ${done}/${total}  ${words}  (${elapsed}${left === undefined ? "" : `, ${duration(left)} left`})\n`);
    },
    line(text) {
      process.stderr.write(`${text}\n`);
    },
    stop() {},
  };
}

/** Seconds left, from how long `done` units took; undefined before the first. */
export function estimate(done: number, left: number, seconds: number): number | undefined {
  return done > 0 ? (seconds / done) * left : undefined;
}
