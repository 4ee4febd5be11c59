import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ConfigError, DataError } from "../errors.ts";
import type { Question } from "../types.ts";
import { loadQuestions, questionOrder, questionsForStep } from "./dataset.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "questions-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function questionsFile(...lines: readonly string[]): Promise<string> {
  const file = join(folder, "questions.jsonl");
  await writeFile(file, lines.join("\n"));
  return file;
}
const good = '{"id":"a","question":"Capital of Peru?","golden_answers":["Lima"],"dataset":"atlas","split":"train","hops":1}';

describe("loadQuestions", () => {
  it("reads both spellings of the gold answers", async () => {
    const file = await questionsFile(good, '{"id":"b","question":"Of Chile?","goldAnswers":["Santiago","Santiago de Chile"]}');
    expect(await loadQuestions(file)).toEqual([
      { id: "a", question: "Capital of Peru?", goldAnswers: ["Lima"], dataset: "atlas", split: "train" },
      { id: "b", question: "Of Chile?", goldAnswers: ["Santiago", "Santiago de Chile"], dataset: "", split: "" },
    ]);
  });

  it.each([
    ['{"id":"b",', "not valid JSON"],
    ["null", "expected a JSON object, got null"],
    ['{"question":"q","golden_answers":["x"]}', "id must be a non-empty string, got nothing"],
    ['{"id":"b","golden_answers":["x"]}', "question must be a non-empty string, got nothing"],
    ['{"id":"b","question":"  ","golden_answers":["x"]}', 'question must be a non-empty string, got "  "'],
    ['{"id":"b","question":"q"}', "golden_answers must be a list with at least one answer, got nothing"],
    ['{"id":"b","question":"q","golden_answers":[]}', "golden_answers must be a list with at least one answer, got []"],
    ['{"id":"b","question":"q","goldAnswers":"x"}', 'goldAnswers must be a list with at least one answer, got "x"'],
    ['{"id":"b","question":"q","golden_answers":["x",""]}', 'golden_answers[1] must be a non-empty string, got ""'],
    ['{"id":"b","question":"q","golden_answers":[3]}', "golden_answers[0] must be a non-empty string, got 3"],
    ['{"id":"b","question":"q","golden_answers":["x"],"dataset":1}', "dataset must be a string, got 1"],
    ['{"id":"a","question":"q","golden_answers":["x"]}', 'id "a" is already used in line 1'],
  ])("names the line of %s", async (line, message) => {
    const file = await questionsFile(good, line);
    const failure = loadQuestions(file);
    await expect(failure).rejects.toThrow(`${file}:2: ${message}`);
    await expect(failure).rejects.toBeInstanceOf(DataError);
  });

  it("refuses a file without questions", async () => {
    await expect(loadQuestions(await questionsFile("", ""))).rejects.toThrow("holds no question");
  });
});

const numbered = (count: number): Question[] =>
  Array.from({ length: count }, (_, index) => ({ id: `${index}`, question: "q", goldAnswers: ["a"], dataset: "", split: "" }));
const ids = (questions: readonly Question[]) => questions.map((question) => question.id);

describe("questionsForStep", () => {
  it("uses each question at most once an epoch and never twice in a step", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 40 }), fc.nat(), (count, perStep, seed) => {
        fc.pre(perStep <= count);
        const questions = numbered(count);
        const stepsPerEpoch = Math.floor(count / perStep);
        const epoch = Array.from({ length: stepsPerEpoch }, (_, step) =>
          questionsForStep(questions, { step, questionsPerStep: perStep, seed }),
        );
        expect(new Set(epoch.flatMap(ids)).size).toBe(stepsPerEpoch * perStep);
      }),
    );
  });

  it("depends on the step alone, and every epoch has its own order", () => {
    const questions = numbered(20);
    const at = (step: number, seed = 1) => ids(questionsForStep(questions, { step, questionsPerStep: 5, seed }));
    expect(at(7)).toEqual(at(7));
    expect(at(7)).toEqual(ids(questionOrder(questions, 1, 1)).slice(15));
    expect(ids(questionOrder(questions, 1, 0))).not.toEqual(ids(questionOrder(questions, 1, 1)));
    expect(at(0)).not.toEqual(at(0, 2));
  });

  it("refuses steps larger than the data", () => {
    const act = () => questionsForStep(numbered(3), { step: 0, questionsPerStep: 4, seed: 1 });
    expect(act).toThrow(ConfigError);
    expect(act).toThrow("training.questionsPerStep (4) must not exceed the number of training questions (3)");
  });
});
