/** Labels that some data sets carry beside question and answers; demonstrations get better with them and need none. */
import { isRecord } from "../../json-values.ts";
import { jsonLines } from "../../retrieval/corpus/json-lines.ts";

/** One step of a worked-out question. */
export interface SubQuestion {
  /** May hold `#1`, `#2`, ...: the answers of earlier steps. */
  readonly question: string;
  readonly answer: string;
}

/** What is known of how a question is answered. */
export interface QuestionHints {
  /** Titles of the passages that answer it (`gold_titles`). */
  readonly titles: readonly string[];
  /** Its steps in order (`decomposition`, as MuSiQue has it). */
  readonly steps: readonly SubQuestion[];
}

/** No labels. */
export const noHints: QuestionHints = { titles: [], steps: [] };

/** The labels of a file of questions, by question id; labels of another form count as absent. @throws DataError as `jsonLines` does. */
export async function loadHints(file: string): Promise<Map<string, QuestionHints>> {
  const hints = new Map<string, QuestionHints>();
  for await (const { value } of jsonLines(file)) {
    const { id, gold_titles: titles, decomposition: steps } = value;
    if (typeof id !== "string") continue;
    hints.set(id, { titles: [...new Set(texts(titles))], steps: subQuestions(steps) });
  }
  return hints;
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string" && item.trim() !== "") : [];
}

/** All steps, or none: half a plan leads nowhere. */
function subQuestions(value: unknown): SubQuestion[] {
  if (!Array.isArray(value)) return [];
  const steps = value.flatMap((item: unknown) => {
    if (!isRecord(item) || typeof item["question"] !== "string" || typeof item["answer"] !== "string") return [];
    const question = item["question"].replaceAll(">>", " ").replace(/\s+/g, " ").trim();
    return question === "" || item["answer"].trim() === "" ? [] : [{ question, answer: item["answer"] }];
  });
  return steps.length === value.length ? steps : [];
}
