import type { PullEvent } from "../retrieval/hub/pull.ts";
import type { RepositoryFile } from "../retrieval/hub/repository.ts";
import { bytesText } from "../retrieval/indexing/estimate.ts";
import { createProgress, type Progress } from "./progress.ts";

/** Shows a pull on stderr. */
export interface PullProgress {
  onEvent(event: PullEvent): void;
  line(text: string): void;
  stop(): void;
}

const mebibyte = 1 << 20;
const secondsBetweenLines = 10;
const secondsBetweenFrames = 0.1;
/** The rate shown is that of the last seconds. */
const rateSeconds = 5;
const namesShown = 8;

/** A bar with rate and time left on a terminal; elsewhere a line every ten seconds; nothing when `silent`. */
export function pullProgress(silent: boolean): PullProgress {
  const between = process.stderr.isTTY ? secondsBetweenFrames : secondsBetweenLines;
  let bar: Progress | undefined;
  let shownAt = Number.NEGATIVE_INFINITY;
  let shownDone = -1;
  const rate = recentRate();
  const stop = () => {
    bar?.stop();
    bar = undefined;
  };
  const line = (text: string) => {
    stop();
    if (!silent) process.stderr.write(`${text}\n`);
  };
  return {
    onEvent(event) {
      if (event.kind === "notice") return line(event.words);
      if (event.kind === "plan") return planLines(event).forEach(line);
      const now = performance.now() / 1000;
      const pace = rate(event.done, now);
      if (event.done === shownDone || (now - shownAt < between && event.done < event.total)) return;
      shownAt = now;
      shownDone = event.done;
      const words = pace > 0 ? `${bytesText(pace)}/s  ${event.path}` : event.path;
      bar ??= createProgress({ name: "MiB", silent, every: 1 });
      bar.update(Math.ceil(event.done / mebibyte), Math.ceil(event.total / mebibyte), words);
    },
    line,
    stop,
  };
}

function planLines({ files, missing, leftOut }: Extract<PullEvent, { kind: "plan" }>): string[] {
  const there = files.length - missing.length;
  const lines = [
    missing.length === 0
      ? `all ${counted(files)} are in the cache`
      : `fetching ${counted(missing)}, ${bytesText(bytesOf(missing))}${there > 0 ? ` (${there} in the cache)` : ""}`,
  ];
  if (leftOut.length === 0) return lines;
  const largest = [...leftOut].sort((one, other) => other.size - one.size).map(({ path }) => path);
  const more = largest.length > namesShown ? ` and ${largest.length - namesShown} more` : "";
  lines.push(`left out (--files names others): ${largest.slice(0, namesShown).join(", ")}${more}, ${bytesText(bytesOf(leftOut))}`);
  return lines;
}

function counted(files: readonly RepositoryFile[]): string {
  return files.length === 1 ? "1 file" : `${files.length} files`;
}

function bytesOf(files: readonly RepositoryFile[]): number {
  return files.reduce((sum, { size }) => sum + size, 0);
}

/** Bytes a second over the last seconds. */
function recentRate(): (done: number, now: number) => number {
  const marks: { readonly done: number; readonly at: number }[] = [];
  return (done, now) => {
    if (marks.length === 0 || now - (marks.at(-1) as { at: number }).at > 0.2) marks.push({ done, at: now });
    while (marks.length > 2 && now - (marks[0] as { at: number }).at > rateSeconds) marks.shift();
    const [first] = marks;
    return first === undefined || now <= first.at ? 0 : Math.round(Math.max(0, done - first.done) / (now - first.at));
  };
}
