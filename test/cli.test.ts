import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Answer } from "../src/cli/answer-text.ts";
import type { Summary } from "../src/evaluation/report/summary.ts";
import { cosearch, makeTinyProject, type TinyProject } from "./fixtures/cli/tiny-project.ts";

let project: TinyProject;
beforeAll(async () => {
  project = await makeTinyProject();
}, 120_000);
afterAll(() => rmSync(project.folder, { recursive: true, force: true }));

describe("cosearch", () => {
  test("a study goes on after Ctrl-C, trains, evaluates and reports the four systems; a second call finds everything done", async () => {
    const study = join(project.folder, "study");
    const command = ["study", "--config", project.config, "--seeds", "1,2", "--run", study];
    const stopped = await cosearch(command, { interruptAt: /step +2\/4/ });
    expect(stopped.code).toBe(130);
    expect(stopped.stderr).toContain("the same command goes on where it stopped");
    const first = await cosearch(command);
    expect(first).toMatchObject({ code: 0 });
    for (const name of ["Retrieval Only", "Fixed Ranker", "CoSearch", "Oracle", "CoSearch − Fixed Ranker", join(study, "report.html")]) {
      expect(first.stdout).toContain(name);
    }
    expect(first.stderr).toMatch(/CoSearch, seed 2 +step +4\/4/);
    const summary = JSON.parse(readFileSync(join(study, "summary.json"), "utf8")) as Summary;
    expect(summary).toMatchObject({ seed: 1, seeds: [1, 2], steps: 4 });
    expect(summary.seconds).toBeGreaterThan(0);
    expect(summary.peakMemoryBytes).toBeGreaterThan(50e6);
    for (const system of ["retrievalOnly", "fixedRanker", "cosearch", "oracle"] as const) {
      expect(summary.systems[system]).toMatchObject({ n: 6, f1: expect.any(Number), hit1: expect.any(Number), hitK: expect.any(Number) });
    }
    const metrics = join(study, "seed-2", "cosearch", "metrics.jsonl");
    const before = readFileSync(metrics, "utf8");

    const second = await cosearch([...command, "--json"]);
    expect({ code: second.code, stderr: second.stderr }).toEqual({ code: 0, stderr: "" });
    expect((JSON.parse(second.stdout) as Summary).systems).toEqual(summary.systems);
    expect(readFileSync(metrics, "utf8")).toBe(before);

    const changed = await cosearch([...command, "--set", "grpo.groupSize=6"]);
    expect(changed.code).toBe(3);
    expect(changed.stderr).toMatch(/another configuration.*\n.*grpo\.groupSize/);

    const asked = await cosearch(["ask", "what is the capital of peru", "--run", study]);
    expect(asked.code).toBe(0);
    expect(asked.stdout).toMatch(/thinks .*\n.*searches .*\n.*ranker .*\n.*sees +1\. .*\(found at rank \d\)/);
    const told = await cosearch(["ask", "what is the capital of peru", "--run", study, "--json"]);
    const answer = JSON.parse(told.stdout) as Answer;
    expect(answer.turns[0]?.search?.candidates.length).toBeGreaterThan(0);

    const listed = await cosearch(["runs", "--run", project.folder, "--json"]);
    expect((JSON.parse(listed.stdout) as { state: string }[]).filter(({ state }) => state === "evaluated")).toHaveLength(8);
  }, 180_000);

  test("Ctrl-C saves the run, says how to go on, and the resumed run ends as one never stopped", async () => {
    const flags = ["train", "--config", project.config, "--steps", "6", "--json"];
    const whole = join(project.folder, "whole");
    expect((await cosearch([...flags, "--run", whole])).code).toBe(0);
    const run = join(project.folder, "interrupted");
    const stopped = await cosearch([...flags, "--run", run], { interruptAt: /"step":2,/ });
    expect(stopped.code).toBe(130);
    expect(stopped.stderr).toContain(`cosearch train --resume --run ${run}`);
    const resumed = await cosearch(["train", "--resume", "--run", run]);
    expect(resumed.code).toBe(0);
    const metrics = (folder: string) =>
      readFileSync(join(folder, "metrics.jsonl"), "utf8")
        .trim()
        .split("\n")
        .map((line) => ({ ...(JSON.parse(line) as object), timing: undefined }));
    expect(metrics(run)).toEqual(metrics(whole));

    const evaluated = await cosearch(["evaluate", "--run", run, "--json"]);
    expect((JSON.parse(evaluated.stdout) as Summary).systems.cosearch?.n).toBe(6);
    expect((await cosearch(["report", "--run", run])).code).toBe(0);
    expect(existsSync(join(run, "report.html"))).toBe(true);
  }, 120_000);

  test("doctor checks the machine and the configured files", async () => {
    const healthy = await cosearch(["doctor", "--config", project.config]);
    expect(healthy.stdout).toMatch(/ok +onnxruntime .*GFLOP\/s/);
    expect(healthy.stdout).toMatch(/ok +data\.train +6 questions/);
    const ill = await cosearch(["doctor", "--config", project.config, "--set", "data.test=nowhere.jsonl", "--json"]);
    expect(ill.code).toBe(2);
    expect(JSON.parse(ill.stdout)).toContainEqual(expect.objectContaining({ name: "data.test", ok: false }));
  }, 30_000);

  test("help has an example for every command", async () => {
    for (const command of ["study", "train", "evaluate", "ask", "report", "runs", "doctor"]) {
      const { code, stdout } = await cosearch([command, "--help"]);
      expect(code).toBe(0);
      expect(stdout).toMatch(new RegExp(`Examples:\\n  cosearch ${command}`));
    }
  }, 30_000);
});
