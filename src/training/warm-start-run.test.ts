import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { ScriptedEngine } from "../../test/fixtures/training/scripted-engine.ts";
import { tinyRenderer } from "../../test/fixtures/training/tiny-world.ts";
import { readJsonLines } from "./run-dir.ts";
import { batches, runWarmStart, type WarmStartLine } from "./warm-start-run.ts";
import { openWarmStartState, type WarmStartState, writeWarmStartState } from "./warm-start-state.ts";

const folders: string[] = [];
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "cosearch-warm-"));
  folders.push(folder);
  return folder;
}

const demonstrations = [3, 4, 5, 6, 7].map((id) => ({ tokenIds: [1, id], weights: [0, 1] }));
const settings = { steps: 6 };

/** One sitting with fresh engines; `stopAt`: aborted at this step of this policy, `die`: instead of being told to stop, it throws there. */
async function sitting(out: string, state: WarmStartState, stop: { policy?: string; step?: number; die?: boolean } = {}) {
  const engines = { agent: new ScriptedEngine(tinyRenderer(), () => ""), ranker: new ScriptedEngine(tinyRenderer(), () => "") };
  const controller = new AbortController();
  const result = await runWarmStart({
    out,
    state,
    seed: 5,
    steps: 6,
    batch: 2,
    saveEvery: 2,
    signal: controller.signal,
    courses: (["agent", "ranker"] as const).map((name) => ({
      name,
      policy: name === "agent" ? "main" : "ranker",
      engine: engines[name],
      demonstrations,
      learningRate: 0.1,
    })),
    onStep({ policy, step }) {
      if (policy !== stop.policy || step !== stop.step) return;
      if (stop.die) throw new Error("killed");
      controller.abort();
    },
  }).catch((error: Error) => error.message);
  return { result, weights: [engines.agent.weights, engines.ranker.weights] };
}

async function curve(out: string) {
  const lines = await readJsonLines<WarmStartLine>(join(out, "warm-start.jsonl"));
  return lines.map(({ seconds: _, ...line }) => line);
}

/** The weights and the curve of a run that nothing stopped. */
async function whole() {
  const out = await newFolder();
  const { weights, result } = await sitting(out, await openWarmStartState(out, settings, false));
  expect(result).toMatchObject({ status: "finished", state: { courses: { agent: { step: 6 }, ranker: { step: 6 } } } });
  return { weights, lines: await curve(out) };
}

describe("runWarmStart", () => {
  it.each([
    ["interrupted in the first course", { policy: "agent", step: 3 }],
    ["interrupted in the second", { policy: "ranker", step: 1 }],
    ["killed after steps that no state holds", { policy: "ranker", step: 5, die: true }],
  ])("goes on exactly: %s", async (_, stop) => {
    const straight = await whole();
    const out = await newFolder();
    await writeWarmStartState(out, await openWarmStartState(out, settings, false));
    const first = await sitting(out, await openWarmStartState(out, settings, true), stop);
    if ("die" in stop) expect(first.result).toBe("killed");
    else expect(first.result).toMatchObject({ status: "interrupted" });
    const second = await sitting(out, await openWarmStartState(out, settings, true));
    expect(second.weights).toEqual(straight.weights);
    expect(await curve(out)).toEqual(straight.lines);
    // Of every course the newest state alone stays.
    expect((await readdir(join(out, "state"))).sort()).toEqual(["agent-step-6", "ranker-step-6", "state.json"]);
  });
});

describe("openWarmStartState", () => {
  it("refuses other settings, a start over, and what is no state", async () => {
    const out = await newFolder();
    await writeWarmStartState(out, await openWarmStartState(out, settings, false));
    await expect(openWarmStartState(out, settings, false)).rejects.toThrow("holds a warm start already");
    await expect(openWarmStartState(out, { steps: 7 }, true)).rejects.toThrow("steps: 6 in the run, 7 now");
    await writeWarmStartState(out, { formatVersion: 0 } as WarmStartState);
    await expect(openWarmStartState(out, settings, true)).rejects.toThrow("is not the state of a warm start");
  });

  it("does not write over a finished warm start", async () => {
    const out = await newFolder();
    await sitting(out, await openWarmStartState(out, settings, false));
    await rm(join(out, "state"), { recursive: true });
    await expect(openWarmStartState(out, settings, true)).rejects.toThrow("holds a finished warm start");
  });
});

describe("batches", () => {
  it("passes over all demonstrations, each time in another order", async () => {
    const batch = batches({ name: "agent", demonstrations }, { seed: 1, batch: 5 });
    const passes = await Promise.all([0, 1, 2].map(async (step) => (await batch(step)).map(({ tokenIds }) => tokenIds[1] as number)));
    expect(passes.map((pass) => pass.slice().sort())).toEqual([0, 1, 2].map(() => [3, 4, 5, 6, 7]));
    expect(new Set(passes.map(String)).size).toBe(3);
  });
});
