import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { loadCorpus } from "../src/retrieval/corpus/corpus.ts";
import type { Document } from "../src/types.ts";

/** A question and the passages that answer it. */
export interface LabelledQuestion {
  readonly question: string;
  /** Ids; never empty. */
  readonly gold: readonly string[];
}

/** Questions with labels, by data set, and the passages they are asked over. */
export interface RecallData {
  readonly documents: readonly Document[];
  readonly datasets: ReadonlyMap<string, readonly LabelledQuestion[]>;
}

const corpusFile = "corpus/corpus.jsonl.gz";

/** What is missing of a folder with corpus/corpus.jsonl.gz and questions/NAME.jsonl; undefined where it is whole. */
export async function missingRecallData(folder: string): Promise<string | undefined> {
  for (const path of [join(folder, corpusFile), join(folder, "questions")]) {
    if ((await stat(path).catch(() => undefined)) === undefined) return path;
  }
  return undefined;
}

/**
 * The first `most` questions of every questions/NAME.jsonl that have labels, training lists left out. Labels are `gold_doc_ids` (multi-hop: all are
 * needed) or else `answer_doc_ids` (passages that hold an answer: weak labels).
 */
export async function readRecallData(folder: string, most: number): Promise<RecallData> {
  const missing = await missingRecallData(folder);
  if (missing !== undefined) throw new Error(`${missing} is missing: name a folder with ${corpusFile} and questions/NAME.jsonl (--data)`);
  const datasets = new Map<string, LabelledQuestion[]>();
  for (const name of (await readdir(join(folder, "questions"))).sort()) {
    if (!name.endsWith(".jsonl") || name.endsWith(".train.jsonl")) continue;
    const lines = (await readFile(join(folder, "questions", name), "utf8")).split("\n").filter((line) => line.trim() !== "");
    const questions = lines.map((line) => {
      const { question, gold_doc_ids, answer_doc_ids } = JSON.parse(line) as Record<string, unknown>;
      return { question: question as string, gold: (gold_doc_ids ?? answer_doc_ids ?? []) as string[] };
    });
    const labelled = questions.filter(({ gold }) => gold.length > 0).slice(0, most);
    datasets.set(name.slice(0, -".jsonl".length), labelled);
  }
  return { documents: await loadCorpus(join(folder, corpusFile)), datasets };
}

/** Shares of questions with any gold passage among the first 5, and with all of them among the first 20. */
export interface Recall {
  readonly questions: number;
  readonly anyAt5: number;
  readonly allAt20: number;
}

/** @param found ids of at least 20 passages a question, best first. */
export function recallOf(questions: readonly LabelledQuestion[], found: readonly (readonly string[])[]): Recall {
  let [any, all] = [0, 0];
  questions.forEach(({ gold }, index) => {
    const ids = found[index] as readonly string[];
    const first = new Set(ids.slice(0, 5));
    const more = new Set(ids.slice(0, 20));
    if (gold.some((id) => first.has(id))) any++;
    if (gold.every((id) => more.has(id))) all++;
  });
  const share = (hits: number) => hits / Math.max(1, questions.length);
  return { questions: questions.length, anyAt5: share(any), allAt20: share(all) };
}
