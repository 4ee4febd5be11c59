import type { SystemName } from "../../src/config.ts";
import type { EmbeddedEngine } from "../../src/engine/embedded/embedded-engine.ts";
import { evaluate } from "../../src/evaluation/evaluate.ts";
import { evenlySpaced } from "../../src/evenly-spaced.ts";
import { createSearch, rankerProtocolFor } from "../../src/ranker/systems.ts";
import type { Setting } from "./setting.ts";

/** How well a system answers, in words; Hit@1 over the searches that retrieved an answer also as a number. */
export interface Quality {
  readonly line: string;
  readonly hitAt1: number;
}

/** Greedy answers to questions of a split: answer F1 and EM, searches, format, and Hit@1/K where an answer was among the candidates. */
export async function quality(
  setting: Setting,
  system: SystemName,
  agent: EmbeddedEngine,
  ranker: EmbeddedEngine | undefined,
  split: "dev" | "test" = "dev",
): Promise<Quality> {
  const config = { ...setting.config, system };
  const { retriever, renderer } = setting;
  const search = createSearch(
    config,
    { retriever, ...(ranker ? { ranker: { sampler: ranker, protocol: rankerProtocolFor(config, renderer) } } : {}) },
    "evaluation",
  );
  const questions = evenlySpaced(setting.world.questions(split), split === "dev" ? 300 : 800);
  const records = await evaluate({
    questions,
    protocol: setting.tools.protocol,
    sampler: agent,
    search,
    limits: config.agent,
    scoring: { answerProfile: config.data.answerProfile, reward: config.reward },
    batchQuestions: 128,
  });
  const average = (values: readonly number[]) => (values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length);
  const mean = (values: readonly number[]) => average(values).toFixed(3);
  const steps = records.flatMap((record) => record.turns.flatMap((turn) => turn.search ?? []));
  const answerable = steps.filter((step) => step.answerInCandidates);
  const hitAt1 = average(answerable.map((step) => (step.hitAt1 ? 1 : 0)));
  const line = [
    `${system} F1 ${mean(records.map((record) => record.f1))}`,
    `EM ${mean(records.map((record) => record.em))}`,
    `searches ${mean(records.map((record) => record.searches))}`,
    `format ${mean(records.map((record) => (record.formatValid ? 1 : 0)))}`,
    `answer among candidates ${mean(steps.map((step) => (step.answerInCandidates ? 1 : 0)))}`,
    `Hit@1 ${hitAt1.toFixed(3)}`,
    `Hit@${config.ranker.topK} ${mean(answerable.map((step) => (step.hitAtK ? 1 : 0)))}`,
  ].join(", ");
  return { line, hitAt1 };
}
