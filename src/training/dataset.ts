import { ConfigError, DataError } from "../errors.ts";
import { shown } from "../json-values.ts";
import { jsonLines } from "../retrieval/corpus/json-lines.ts";
import { Rng } from "../rng.ts";
import type { Question } from "../types.ts";

/**
 * Reads questions: JSONL of {id, question, golden_answers[], dataset?, split?}; `goldAnswers` is accepted for
 * `golden_answers`, further fields are ignored.
 * @throws DataError naming file, line and field for malformed JSON, a missing, empty or non-string field, no gold answer, a
 * duplicate id, or an empty file.
 */
export async function loadQuestions(file: string): Promise<Question[]> {
  const questions: Question[] = [];
  const lineOfId = new Map<string, number>();
  for await (const { line, value } of jsonLines(file)) {
    const place = { file, line };
    const id = requiredText(value, "id", place);
    const earlier = lineOfId.get(id);
    if (earlier !== undefined) throw new DataError(`id ${shown(id)} is already used in line ${earlier}: ids must be unique`, place);
    lineOfId.set(id, line);
    questions.push({
      id,
      question: requiredText(value, "question", place),
      goldAnswers: goldAnswers(value, place),
      dataset: optionalText(value, "dataset", place),
      split: optionalText(value, "split", place),
    });
  }
  if (questions.length === 0) throw new DataError("holds no question: expected JSONL of {id, question, golden_answers[]}", { file });
  return questions;
}

type Place = { readonly file: string; readonly line: number };

function requiredText(value: Record<string, unknown>, field: string, place: Place): string {
  const text = value[field];
  if (typeof text !== "string" || text.trim() === "") {
    throw new DataError(`${field} must be a non-empty string, got ${shown(text)}: fill it or remove the line`, place);
  }
  return text;
}

/** The field, or "" where it is missing. */
function optionalText(value: Record<string, unknown>, field: string, place: Place): string {
  const text = value[field] ?? "";
  if (typeof text !== "string") throw new DataError(`${field} must be a string, got ${shown(text)}: quote it or leave it out`, place);
  return text;
}

function goldAnswers(value: Record<string, unknown>, place: Place): string[] {
  const field = value.golden_answers === undefined && value.goldAnswers !== undefined ? "goldAnswers" : "golden_answers";
  const answers = value[field];
  if (!Array.isArray(answers) || answers.length === 0) {
    throw new DataError(`${field} must be a list with at least one answer, got ${shown(answers)}: give every accepted answer`, place);
  }
  return answers.map((answer: unknown, index) => {
    if (typeof answer === "string" && answer.trim() !== "") return answer;
    throw new DataError(`${field}[${index}] must be a non-empty string, got ${shown(answer)}: fill it or remove it`, place);
  });
}

/** The order of one pass over the questions (`epoch` from 0): the same for the same seed and epoch, always. */
export function questionOrder(questions: readonly Question[], seed: number, epoch: number): Question[] {
  return Rng.stream(seed, "question-order", epoch).shuffle(questions);
}

/**
 * The questions of one training step (`step` from 0). The step number alone tells the position in the stream, so that a resumed
 * run needs nothing else. A pass ends when less than a whole batch is left (another remainder each time), so that no
 * question comes twice in a step.
 * @throws ConfigError when a step needs more questions than there are.
 */
export function questionsForStep(
  questions: readonly Question[],
  { step, questionsPerStep, seed }: { readonly step: number; readonly questionsPerStep: number; readonly seed: number },
): Question[] {
  const stepsPerEpoch = Math.floor(questions.length / questionsPerStep);
  if (stepsPerEpoch < 1) {
    throw new ConfigError(
      `training.questionsPerStep (${questionsPerStep}) must not exceed the number of training questions (${questions.length})`,
    );
  }
  const start = (step % stepsPerEpoch) * questionsPerStep;
  return questionOrder(questions, seed, Math.floor(step / stepsPerEpoch)).slice(start, start + questionsPerStep);
}
