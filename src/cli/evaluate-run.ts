import type { Config } from "../config.ts";
import { type EvaluationRequest, evaluate } from "../evaluation/evaluate.ts";
import type { QuestionRecord } from "../evaluation/record.ts";
import { evenlySpaced } from "../evenly-spaced.ts";
import { jsonLines } from "../retrieval/corpus/json-lines.ts";
import { loadQuestions } from "../training/dataset.ts";
import type { Wiring } from "../training/wiring.ts";
import { answeringParts } from "./wiring.ts";

/** Progress and interruption. */
export interface EvaluateRunOptions {
  readonly onProgress?: (done: number, total: number) => void;
  readonly signal?: AbortSignal;
  /** See EvaluationRequest. */
  readonly known?: EvaluationRequest["known"];
  readonly keep?: EvaluationRequest["keep"];
}

/** Evaluates the published weights on the configuration's held-out questions. */
export async function evaluateRun(config: Config, wiring: Wiring, options: EvaluateRunOptions = {}): Promise<QuestionRecord[]> {
  const questions = evenlySpaced(await loadQuestions(config.data.test), config.evaluation.questions);
  const hops = await hopsById(config.data.test);
  const records = await evaluate({
    questions,
    sampler: wiring.main.engine,
    ...answeringParts(config, wiring),
    limits: config.agent,
    scoring: { answerProfile: config.data.answerProfile, reward: config.reward },
    batchQuestions: config.evaluation.batchQuestions,
    ...options,
  });
  return records.map((record) => {
    const count = hops.get(record.questionId);
    return count === undefined ? record : { ...record, hops: count };
  });
}

/** The `hops` that a questions file may tell. */
async function hopsById(file: string): Promise<Map<string, number>> {
  const hops = new Map<string, number>();
  for await (const { value } of jsonLines(file)) {
    if (typeof value.id === "string" && typeof value.hops === "number") hops.set(value.id, value.hops);
  }
  return hops;
}
