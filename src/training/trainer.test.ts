import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { agentScript, type ConfigChange, type ScriptedWiring, tinyConfig, tinyWiring } from "../../test/fixtures/training/tiny-run.ts";
import { AlarmError, ConfigError, RunFolderError } from "../errors.ts";
import { listCheckpoints, selectedCheckpoint } from "./checkpoint.ts";
import type { StepMetrics } from "./metrics.ts";
import { readJsonLines } from "./run-dir.ts";
import { type TrainProgress, type TrainRequest, train } from "./trainer.ts";
import type { QuestionRolloutRecord } from "./trajectory-record.ts";

let parent: string;
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), "cosearch-train-"));
});
afterEach(() => rm(parent, { recursive: true, force: true }));

const evaluated: ConfigChange = { training: { evaluateEvery: 3, checkpointEvery: 2 } };

async function run(name: string, options: Partial<TrainRequest> & { change?: ConfigChange; wiring?: ScriptedWiring } = {}) {
  const wiring = options.wiring ?? tinyWiring();
  const result = await train({ config: tinyConfig(options.change ?? evaluated), runFolder: join(parent, name), wiring, ...options });
  return { result, ...(await outcome(name, wiring)) };
}

/** All that two equal runs have in common. */
async function outcome(name: string, wiring: ScriptedWiring) {
  const folder = join(parent, name);
  const lines = await readJsonLines<StepMetrics>(join(folder, "metrics.jsonl"));
  return {
    weights: [wiring.main.engine.weights, wiring.ranker.engine.weights],
    metrics: lines.map(({ timing, ...rest }) => rest),
    dev: await readJsonLines<object>(join(folder, "evaluations", "dev.jsonl")),
    checkpoints: await readJsonLines<{ step: number }>(join(folder, "checkpoints.jsonl")),
    trajectories: await Promise.all(
      (await readdir(join(folder, "trajectories"))).sort().map((file) => readFile(join(folder, "trajectories", file), "hex")),
    ),
  };
}

describe("train", () => {
  it("leaves a whole run folder", async () => {
    const progress: TrainProgress[] = [];
    const { result, metrics, dev, checkpoints } = await run("a", { onProgress: (one) => progress.push(one) });
    expect(result).toMatchObject({ status: "finished", step: 6 });
    expect(metrics.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(dev.map((line) => (line as { step: number }).step)).toEqual([0, 3, 6]);
    expect(checkpoints.map(({ step }) => step)).toEqual([0, 2, 3, 4, 6]);
    expect(progress.map(({ kind }) => kind).filter((kind) => kind === "step")).toHaveLength(6);
    expect((await readdir(join(parent, "a"))).sort()).toEqual([
      "checkpoints",
      "checkpoints.jsonl",
      "config.yaml",
      "evaluations",
      "manifest.json",
      "metrics.jsonl",
      "trajectories",
    ]);
    const record = JSON.parse(
      gunzipSync(await readFile(join(parent, "a", "trajectories", "step-1.jsonl.gz")))
        .toString()
        .split("\n")[0] as string,
    ) as QuestionRolloutRecord;
    expect(record.trajectories).toHaveLength(4);
    expect(record.trajectories[0]?.turns[0]?.output).toContain("<");
  });

  it("is a function of the seed", async () => {
    const first = await run("a");
    const second = await run("b");
    expect({ ...second, result: undefined }).toEqual({ ...first, result: undefined });
    const other = await run("c", { change: { ...evaluated, seed: 2 } });
    expect(other.weights).not.toEqual(first.weights);
  });

  it("keeps the best checkpoint on dev and the newest", async () => {
    const { result } = await run("a");
    const kept = (await listCheckpoints(join(parent, "a"))).map(({ manifest }) => manifest.step);
    expect(kept).toContain(result.checkpoint.manifest.step);
    expect(kept.slice(-2)).toEqual([4, 6]);
    expect(result.checkpoint.folder).toBe((await selectedCheckpoint(join(parent, "a"))).folder);
  });

  it("refuses wiring that can't work, before it touches the folder", async () => {
    await expect(run("a", { change: { grpo: { klCoefficient: 0.001 } } })).rejects.toThrow(/klCoefficient is 0\.001.*main policy/);
    await expect(run("a", { wiring: { ...tinyWiring(), trainQuestions: [] } })).rejects.toThrow(ConfigError);
    await expect(run("a", { wiring: { ...tinyWiring(), ranker: undefined } as never })).rejects.toThrow(/needs a ranker/);
    expect(await readdir(parent)).toEqual([]);
  });

  it("compares with the reference engines where a KL term asks for them", async () => {
    const wiring = tinyWiring();
    const withReference = {
      ...wiring,
      main: { ...wiring.main, reference: tinyWiring().main.engine },
      ranker: { ...wiring.ranker, reference: tinyWiring().ranker.engine },
    };
    await run("a", { change: { grpo: { klCoefficient: 0.001 }, training: { steps: 1 } }, wiring: withReference });
    const examples = [...wiring.main.engine.updates, ...wiring.ranker.engine.updates].flatMap((update) => update.examples);
    expect(examples.length).toBeGreaterThan(0);
    expect(examples.every(({ referenceLogprobs, tokenIds }) => referenceLogprobs?.length === tokenIds.length)).toBe(true);
  });

  it("stops when the alarm goes off and keeps the last good checkpoint", async () => {
    // From the third step on the agent says nothing well-formed.
    let published = 0;
    const wiring = tinyWiring({ main: (prompt, draw, request) => (published >= 3 ? "<answer>" : agentScript(prompt, draw, request)) });
    const change: ConfigChange = { alarm: { enabled: true, window: 2, minFormatValidity: 0.6 } };
    const onProgress = (progress: TrainProgress) => {
      if (progress.kind === "step") published = progress.metrics.step + 1;
    };
    const failure = run("a", { wiring, change, onProgress });
    await expect(failure).rejects.toThrow(AlarmError);
    await expect(failure).rejects.toThrow(
      /stopped after step \d: mainFormatValidity = 0\.\d+ .*alarm\.minFormatValidity \(0\.6\); the last good checkpoint is .*step-2/,
    );
    expect((await listCheckpoints(join(parent, "a"))).map(({ manifest }) => manifest.step)).toEqual([2]);
  });

  it("keeps earlier checkpoints when the disk is full, and goes on from them", async () => {
    const unbroken = await run("unbroken");
    const wiring = tinyWiring();
    let allowed = 2;
    const onProgress = (progress: TrainProgress) => {
      if (progress.kind === "checkpoint" && --allowed === 0)
        wiring.main.engine.saveError = Object.assign(new Error("write failed"), { code: "ENOSPC" });
    };
    await expect(run("a", { wiring, onProgress })).rejects.toThrow(/the disk is full/);
    const resumed = await run("a", { resume: true });
    expect({ ...resumed, result: undefined }).toEqual({ ...unbroken, result: undefined });
  });
});

describe("interruption", () => {
  it.each([1, 3, 14, 20, 40, 75])("at the %d-th sample saves a checkpoint; resuming ends like an unbroken run", async (at) => {
    const unbroken = await run("unbroken");
    const wiring = tinyWiring();
    const controller = new AbortController();
    let samples = 0;
    wiring.main.engine.onSample = () => {
      if (++samples === at) controller.abort();
    };
    const { result } = await run("a", { wiring, signal: controller.signal });
    expect(result.status).toBe("interrupted");
    const resumed = await run("a", { resume: true });
    expect(resumed.result.status).toBe("finished");
    expect({ ...resumed, result: undefined }).toMatchObject({
      weights: unbroken.weights,
      metrics: unbroken.metrics,
      dev: unbroken.dev,
      trajectories: unbroken.trajectories,
    });
  });

  it("during an update lets the step finish", async () => {
    const wiring = tinyWiring();
    const controller = new AbortController();
    const { optimStep } = wiring.main.engine;
    wiring.main.engine.optimStep = (options) => {
      controller.abort();
      return optimStep.call(wiring.main.engine, options);
    };
    const { result } = await run("a", { wiring, signal: controller.signal });
    expect(result).toMatchObject({ status: "interrupted", step: 1 });
    expect((await readJsonLines<StepMetrics>(join(parent, "a", "metrics.jsonl"))).map(({ step }) => step)).toEqual([1]);
  });

  it("of a finished run has nothing left to do", async () => {
    const first = await run("a");
    const again = await run("a", { resume: true });
    expect(again.metrics).toEqual(first.metrics);
    expect(again.weights).toEqual(first.weights);
  });

  it("refuses metrics that don't reach the checkpoint", async () => {
    await run("a");
    await rm(join(parent, "a", "metrics.jsonl"));
    await expect(run("a", { resume: true })).rejects.toThrow(RunFolderError);
  });
});
