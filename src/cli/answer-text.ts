/** What `ask` shows of a trajectory: for scripts, and for people. */
import { blockText } from "../evaluation/record.ts";
import { passageText } from "../retrieval/passage-text.ts";
import type { Action, SearchStep, StopReason, Trajectory } from "../types.ts";

/** A candidate as `ask` shows it. */
export interface AnswerCandidate {
  /** Retriever's rank, from 1. */
  readonly rank: number;
  /** Where the agent saw it, from 1; absent: it did not. */
  readonly shownAt?: number;
  readonly id: string;
  readonly text: string;
  readonly score: number;
}

/** A turn as `ask` shows it. */
export interface AnswerTurn {
  readonly output: string;
  readonly thought?: string;
  readonly action: Action;
  readonly search?: {
    readonly candidates: readonly AnswerCandidate[];
    readonly ranker?: {
      readonly output: string;
      readonly reason?: string;
      readonly ranking?: readonly number[];
      readonly malformed?: string;
    };
  };
}

/** What `ask --json` prints. */
export interface Answer {
  readonly question: string;
  readonly answer?: string;
  readonly stopReason: StopReason;
  /** What failed, for `infra_error`. */
  readonly error?: string;
  readonly turns: readonly AnswerTurn[];
}

/** Reads a trajectory into what `ask` shows. */
export function describeAnswer(question: string, trajectory: Trajectory): Answer {
  return {
    question,
    ...(trajectory.answer === undefined ? {} : { answer: trajectory.answer }),
    stopReason: trajectory.stopReason,
    ...(trajectory.error === undefined ? {} : { error: trajectory.error }),
    turns: trajectory.turns.map(({ output, action, search }) => {
      const thought = blockText(output.text);
      return { output: output.text, ...(thought ? { thought } : {}), action, ...(search ? { search: describeSearch(search) } : {}) };
    }),
  };
}

function describeSearch({ candidates, observation, rankerCall }: SearchStep): NonNullable<AnswerTurn["search"]> {
  const reason = rankerCall && blockText(rankerCall.output.text);
  return {
    candidates: candidates.map(({ document, rank, score }) => {
      const position = observation.findIndex(({ id }) => id === document.id);
      return { rank, ...(position < 0 ? {} : { shownAt: position + 1 }), id: document.id, text: passageText(document), score };
    }),
    ...(rankerCall
      ? {
          ranker: {
            output: rankerCall.output.text,
            ...(reason ? { reason } : {}),
            ...(rankerCall.ranking.kind === "ranked"
              ? { ranking: rankerCall.ranking.candidateRanks }
              : { malformed: rankerCall.ranking.reason }),
          },
        }
      : {}),
  };
}

const endings: Record<StopReason, string> = {
  answered: "",
  malformed: "The agent's last turn was malformed: no answer.",
  search_limit: "The agent asked for more searches than it may make: no answer.",
  length: "The agent ran out of room: no answer.",
  infra_error: "A service failed: no answer.",
};

/** For a terminal; `styled` adds bold and faint. */
export function answerText({ question, turns, stopReason }: Answer, styled: boolean): string {
  const style = (code: number, text: string) => (styled ? `\u001b[${code}m${text}\u001b[0m` : text);
  const row = (label: string, text: string) => `  ${style(2, label.padEnd(10))}${text}`;
  const lines = [style(1, question), ""];
  for (const { thought, action, search, output } of turns) {
    if (thought) lines.push(row("thinks", thought));
    if (action.kind === "answer") lines.push(row("answers", style(1, action.answer)));
    if (action.kind === "malformed") lines.push(row("malformed", `${action.reason}: ${JSON.stringify(output)}`));
    if (action.kind === "search") lines.push(row("searches", style(1, action.query)));
    if (search) lines.push(...searchLines(search, row, (text) => style(2, text)));
    lines.push("");
  }
  if (stopReason !== "answered") lines.push(endings[stopReason]);
  return lines.join("\n").trimEnd();
}

function searchLines(
  search: NonNullable<AnswerTurn["search"]>,
  row: (label: string, text: string) => string,
  faint: (text: string) => string,
): string[] {
  const { candidates, ranker } = search;
  const lines: string[] = [];
  if (ranker?.malformed !== undefined) lines.push(row("ranker", `malformed (${ranker.malformed}): the retriever's order stands`));
  else if (ranker)
    lines.push(row("ranker", `${ranker.reason ?? ""}  ${(ranker.ranking ?? []).map((label) => `[${label}]`).join(" > ")}`.trim()));
  const shown = candidates
    .filter(({ shownAt }) => shownAt !== undefined)
    .sort((first, second) => (first.shownAt ?? 0) - (second.shownAt ?? 0));
  const rest = candidates.filter(({ shownAt }) => shownAt === undefined);
  for (const [index, { shownAt, rank, text }] of shown.entries()) {
    lines.push(row(index === 0 ? "sees" : "", `${shownAt}. ${text} ${faint(`(found at rank ${rank})`)}`));
  }
  for (const [index, { rank, text }] of rest.entries()) lines.push(row(index === 0 ? "left out" : "", faint(`rank ${rank}: ${text}`)));
  return lines;
}
