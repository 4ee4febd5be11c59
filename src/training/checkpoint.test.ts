import { mkdir, mkdtemp, readdir, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { tinyWiring } from "../../test/fixtures/training/tiny-run.ts";
import { ModelError, RunFolderError } from "../errors.ts";
import {
  addDevScores,
  type DevScores,
  listCheckpoints,
  loadCheckpoint,
  pruneCheckpoints,
  saveCheckpoint,
  selectedCheckpoint,
} from "./checkpoint.ts";

let run: string;
beforeEach(async () => {
  run = await mkdtemp(join(tmpdir(), "cosearch-checkpoints-"));
  await mkdir(join(run, "checkpoints"));
});
afterEach(() => rm(run, { recursive: true, force: true }));

const fresh = () => {
  const { main, ranker } = tinyWiring();
  return { main: main.engine, ranker: ranker.engine };
};
const dev = (f1: number): DevScores => ({ questions: 4, f1, em: 0, searches: 1, formatValidity: 1 });
const steps = async () => (await listCheckpoints(run)).map(({ manifest }) => manifest.step);

describe("checkpoints", () => {
  it("bring back every engine's state", async () => {
    const engines = fresh();
    engines.main.weights = 77;
    engines.ranker.weights = 88;
    await saveCheckpoint(run, 3, engines);
    const other = fresh();
    const [checkpoint] = await listCheckpoints(run);
    if (!checkpoint) throw new Error("no checkpoint");
    await loadCheckpoint(checkpoint, other);
    expect([other.main.weights, other.ranker.weights]).toEqual([77, 88]);
  });

  it("leave no trace of one that could not be saved, and the earlier one intact", async () => {
    const engines = fresh();
    await saveCheckpoint(run, 1, engines);
    engines.ranker.saveError = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    const failure = saveCheckpoint(run, 2, engines);
    await expect(failure).rejects.toThrow(RunFolderError);
    await expect(failure).rejects.toThrow(/step-2 could not be saved: the disk is full.*Earlier checkpoints are intact/);
    expect(await readdir(join(run, "checkpoints"))).toEqual(["step-1"]);
  });

  it("name a missing or truncated file instead of loading it", async () => {
    const checkpoint = await saveCheckpoint(run, 1, fresh());
    await truncate(join(checkpoint.folder, "main", "weights.json"), 3);
    await expect(loadCheckpoint(checkpoint, fresh())).rejects.toThrow(ModelError);
    await expect(loadCheckpoint(checkpoint, fresh())).rejects.toThrow(/main.weights\.json has 3 bytes instead of \d+/);
    await rm(join(checkpoint.folder, "main", "weights.json"));
    await expect(loadCheckpoint(checkpoint, fresh())).rejects.toThrow(/weights\.json is missing/);
  });

  it("are selected by dev F1, the later of equals, else the last", async () => {
    await saveCheckpoint(run, 1, fresh());
    const second = await saveCheckpoint(run, 2, fresh());
    expect((await selectedCheckpoint(run)).manifest.step).toBe(2);
    await saveCheckpoint(run, 10, fresh(), dev(0.4));
    await addDevScores(second, dev(0.4));
    expect((await selectedCheckpoint(run)).manifest.step).toBe(10);
    await saveCheckpoint(run, 12, fresh(), dev(0.3));
    expect((await selectedCheckpoint(run)).manifest.step).toBe(10);
  });

  it("of a run that never answered right are not the untrained one", async () => {
    for (const step of [0, 2, 4]) await saveCheckpoint(run, step, fresh(), dev(0));
    expect((await selectedCheckpoint(run)).manifest.step).toBe(4);
    await pruneCheckpoints(run, 1);
    expect(await steps()).toEqual([4]);
  });

  it("are pruned to the newest and the best; half-written ones go too", async () => {
    for (const [step, f1] of [
      [2, 0.1],
      [4, 0.9],
      [6, 0.2],
      [8, 0.3],
      [10, 0.4],
    ] as const)
      await saveCheckpoint(run, step, fresh(), dev(f1));
    await mkdir(join(run, "checkpoints", ".step-12.partial"));
    await mkdir(join(run, "checkpoints", "step-14"));
    await writeFile(join(run, "checkpoints", "step-14", "weights"), "no manifest");
    await pruneCheckpoints(run, 2);
    expect(await steps()).toEqual([4, 8, 10]);
    expect(await readdir(join(run, "checkpoints"))).not.toContain(".step-12.partial");
  });

  it.each(["{", "null", "{}"])("with a damaged manifest (%s) are named, with what to do", async (text) => {
    const { folder } = await saveCheckpoint(run, 2, fresh());
    await writeFile(join(folder, "manifest.json"), text);
    await expect(listCheckpoints(run)).rejects.toThrow(/step-2\/manifest\.json is not a checkpoint's manifest: delete .*step-2 to resume/);
  });

  it("are told to be missing by name", async () => {
    await expect(selectedCheckpoint(run)).rejects.toThrow(/holds no checkpoint yet: train first/);
  });
});
