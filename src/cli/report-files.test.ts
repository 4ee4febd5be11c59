import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { tinyConfig, tinyWiring } from "../../test/fixtures/training/tiny-run.ts";
import { type SystemName, systemNames } from "../config.ts";
import { evaluate } from "../evaluation/evaluate.ts";
import type { Summary } from "../evaluation/report/summary.ts";
import { train } from "../training/trainer.ts";
import { heldOut, readEvaluation, writeEvaluation } from "./evaluation-files.ts";
import { writeReport } from "./report-files.ts";
import { systemFolder, warmStartFolder } from "./run-folders.ts";
import { answeringParts } from "./wiring.ts";

let study: string;
beforeEach(() => {
  study = mkdtempSync(join(tmpdir(), "cosearch-study-"));
});
afterEach(() => rmSync(study, { recursive: true, force: true }));

const hostile = `<img src=x onerror="alert(1)"> & "quoted"`;

async function evaluated(system: SystemName, seed: number, folder: string, trained: boolean) {
  const config = tinyConfig({ system, seed, training: { evaluateEvery: 3 } });
  const wiring = tinyWiring();
  if (trained) await train({ config, runFolder: folder, wiring });
  const questions = wiring.trainQuestions.map((question, index) =>
    index === 0 ? { ...question, question: `${hostile} ${question.question}` } : question,
  );
  const records = await evaluate({
    questions,
    sampler: wiring.main.engine,
    ...answeringParts(config, wiring),
    limits: config.agent,
    scoring: { answerProfile: "squad", reward: config.reward },
    batchQuestions: 8,
  });
  const withHops = records.map((record, index) => ({ ...record, hops: 1 + (index % 2) }));
  await writeEvaluation(folder, heldOut, { header: { system, seed, step: trained ? 6 : 0, questions: records.length }, records: withHops });
}

/** A whole study, made with scripted engines. */
async function makeStudy(seeds: readonly number[]) {
  const config = tinyConfig({ name: hostile, evaluation: { bootstrapSamples: 200 } });
  writeFileSync(join(study, "config.yaml"), stringify(config));
  const state = { formatVersion: 1, seeds, inputs: {}, seconds: 61, peakMemoryBytes: 2 ** 30 };
  writeFileSync(join(study, "study.json"), JSON.stringify(state));
  for (const seed of seeds) for (const system of systemNames) await evaluated(system, seed, systemFolder(study, seed, system), true);
  for (const system of ["retrieval-only", "fixed-ranker"] as const) await evaluated(system, 1, warmStartFolder(study, system), false);
}

describe("writeReport", { timeout: 60_000 }, () => {
  test("writes a self-contained page and a summary for scripts", async () => {
    await makeStudy([1, 2]);
    const { html, summary } = await writeReport(study);
    const page = readFileSync(html, "utf8");
    expect(page).not.toContain("<img");
    expect(page).not.toContain("<script");
    expect(page).not.toMatch(/(src|href)="(?!data:,)/);
    expect(page).not.toMatch(/url\(|@import/);
    expect(page).toContain("&lt;img src=x onerror=");
    for (const name of ["Retrieval Only", "Fixed Ranker", "CoSearch", "Oracle", "Warm start"]) expect(page).toContain(name);
    for (const chart of ["Reward of the agent", "F1 on dev questions", "Reward of the ranker", "An answer on top", "Size of the groups"]) {
      expect(page).toContain(`<strong>${chart}</strong>`);
    }
    expect(page).not.toMatch(/NaN|undefined|\[object/);

    const told = JSON.parse(readFileSync(summary, "utf8")) as Summary;
    expect(told).toMatchObject({ seed: 1, seeds: [1, 2], steps: 6, seconds: 61, peakMemoryBytes: 2 ** 30 });
    for (const key of ["retrievalOnly", "fixedRanker", "cosearch", "oracle", "warmStart", "warmStartRanker"] as const) {
      const system = told.systems[key];
      for (const name of ["f1", "em", "hit1", "hitK", "searches", "formatValid"] as const) expect(system?.[name]).toBeGreaterThanOrEqual(0);
      expect(system?.n).toBe(6);
    }
    expect(told.systems.oracle?.hit1).toBe(1);
    const difference = told.differences["cosearch-fixedRanker"]?.f1;
    expect(difference?.seeds).toHaveLength(2);
    expect(difference?.mean).toBeCloseTo((told.systems.cosearch?.f1 ?? 0) - (told.systems.fixedRanker?.f1 ?? 0), 10);
  });

  test("a single run has a report too, before and after its evaluation", async () => {
    const config = tinyConfig({ system: "cosearch" });
    await train({ config, runFolder: study, wiring: tinyWiring() });
    const before = await writeReport(study);
    expect(before.data.systems).toEqual([]);
    expect(readFileSync(before.html, "utf8")).toContain("Nothing has been evaluated");
    rmSync(study, { recursive: true });
    await evaluated("cosearch", 1, study, true);
    expect((await writeReport(study)).data.systems.map(({ key }) => key)).toEqual(["cosearch"]);
  });

  test("records that are missing from an evaluation are noticed", async () => {
    await evaluated("cosearch", 1, study, true);
    const file = join(study, "evaluations", "test.jsonl");
    writeFileSync(file, `${readFileSync(file, "utf8").split("\n").slice(1).join("\n")}`);
    await expect(readEvaluation(study, heldOut)).rejects.toThrow(/holds 5 records instead of 6: evaluate again/);
  });
});
