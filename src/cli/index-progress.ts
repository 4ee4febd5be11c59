import type { BuildEvent, FinishedIndex } from "../retrieval/indexing/build-progress.ts";
import { bytesText, type IndexEstimate } from "../retrieval/indexing/estimate.ts";
import { createProgress, type Progress } from "./progress.ts";

/** Shows a build, or another task in named stages, on stderr. */
export interface StageProgress {
  onEvent(event: BuildEvent): void;
  line(text: string): void;
  stop(): void;
}

const secondsBetweenLines = 10;
const secondsBetweenFrames = 0.1;

/** A bar a stage on a terminal; elsewhere a line at the start and end of each stage and every ten seconds. */
export function stageProgress(silent: boolean): StageProgress {
  let stage = "";
  let bar: Progress | undefined;
  let shownAt = Number.NEGATIVE_INFINITY;
  const between = process.stderr.isTTY ? secondsBetweenFrames : secondsBetweenLines;
  const stop = () => {
    bar?.stop();
    bar = undefined;
    stage = "";
  };
  const line = (text: string) => {
    stop();
    if (!silent) process.stderr.write(`${text}\n`);
  };
  return {
    onEvent(event) {
      if (event.kind !== "progress") return eventLines(event).forEach(line);
      if (event.stage !== stage) {
        stop();
        stage = event.stage;
        bar = createProgress({ name: stage === "reading" ? "reading (%)" : stage, silent, every: 1 });
        shownAt = Number.NEGATIVE_INFINITY;
      }
      const now = performance.now() / 1000;
      if (now - shownAt < between && event.done < event.total) return;
      shownAt = now;
      if (stage === "reading") bar?.update(Math.floor((100 * event.done) / Math.max(1, event.total)), 100, event.words);
      else bar?.update(event.done, event.total, event.words);
    },
    line,
    stop,
  };
}

function eventLines(event: Exclude<BuildEvent, { kind: "progress" }>): string[] {
  switch (event.kind) {
    case "estimate":
      return [estimateLine(event.estimate)];
    case "resumed":
      return [`goes on with an unfinished build; done: ${event.done.join(", ")}`];
    case "unchanged":
      return unchangedLines(event.index);
    case "others":
      return [othersText(event)];
    case "kept":
      return [`${event.rows.toLocaleString("en")} vectors are already there`];
    case "truncated":
      return [
        `${event.passages.toLocaleString("en")} passages were cut at the model's longest input: shorter passages would be found by all they say`,
      ];
    case "documents": {
      const skipped = event.skipped > 0 ? `, ${event.skipped.toLocaleString("en")} left out (skipped.jsonl lists them)` : "";
      return [`${event.count.toLocaleString("en")} passages${skipped}`];
    }
  }
}

/** `12 files of other kinds are not read: pdf, png` */
export function othersText({ files, kinds }: Extract<BuildEvent, { kind: "others" }>): string {
  const named = kinds.map((kind) => kind || "without an extension").slice(0, mostKinds);
  const more = kinds.length > mostKinds ? ", ..." : "";
  const subject = files === 1 ? "1 file of another kind is" : `${files.toLocaleString("en")} files of other kinds are`;
  return `${subject} not read: ${named.join(", ").replace(/\p{Cc}/gu, "")}${more}`;
}

const mostKinds = 8;

/** Sources named in a message. */
const mostNamed = 3;

function unchangedLines({ kind, asked, sources, changedSince }: FinishedIndex): string[] {
  const listed = (names: readonly string[]) => {
    const more = names.length > mostNamed ? ` and ${(names.length - mostNamed).toLocaleString("en")} more` : "";
    return names.slice(0, mostNamed).join(", ") + more;
  };
  const from = listed(sources.map(({ name, bytes }) => `${name} (${bytesText(bytes)})`));
  return [
    `the ${kind} index is already built from ${from}: nothing to do; names and sizes were compared, not contents (--fresh builds it again)`,
    ...(asked === kind ? [] : [`it holds a ${asked} side, which searches use alone with --kind ${asked}`]),
    ...(changedSince.length === 0
      ? []
      : [`warning: changed since the index was built: ${listed(changedSince)}; if the contents differ, build it again with --fresh`]),
  ];
}

function estimateLine({ documents, exact, diskTotal, freeDisk, memory, freeMemory }: IndexEstimate): string {
  const about = exact ? "" : "about ";
  return `${about}${documents.toLocaleString("en")} passages: about ${bytesText(diskTotal)} of disk (${bytesText(freeDisk)} free), ${bytesText(memory)} of memory (${bytesText(freeMemory)} free)`;
}
