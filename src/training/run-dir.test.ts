import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { tinyConfig } from "../../test/fixtures/training/tiny-run.ts";
import { RunFolderError } from "../errors.ts";
import { openRunFolder } from "./run-dir.ts";

let path: string;
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), "cosearch-run-"));
});
afterEach(() => rm(path, { recursive: true, force: true }));

const config = tinyConfig();
const inputs = { "data.train": "aaaa", "retrieval.corpus": "bbbb" };
const open = (change: Partial<Parameters<typeof openRunFolder>[1]> = {}) =>
  openRunFolder(path, { config, inputs, resume: true, ...change });

describe("the lock", () => {
  it("refuses a second holder, naming the process, until it is released", async () => {
    const first = await open();
    await expect(open()).rejects.toThrow(RunFolderError);
    await expect(open()).rejects.toThrow(new RegExp(`in use by process ${process.pid}`));
    await first.release();
    await (await open()).release();
    expect((await readdir(path)).filter((name) => name.includes("lock"))).toEqual([]);
  });

  it("takes over the lock of a process that ended", async () => {
    const child = spawn(process.execPath, ["-e", ""]);
    await once(child, "exit");
    await writeFile(join(path, "lock.json"), JSON.stringify({ pid: child.pid, host: hostname(), started: "boot:1" }));
    await (await open()).release();
  });

  it("takes over the lock of an earlier process whose id is in use again", async () => {
    await writeFile(join(path, "lock.json"), JSON.stringify({ pid: process.pid, host: hostname(), started: "earlier boot:1" }));
    await (await open()).release();
  });

  it("takes over a lock that a failing disk left unreadable", async () => {
    await writeFile(join(path, "lock.json"), "{");
    await (await open()).release();
  });

  it("believes a lock of another machine", async () => {
    await writeFile(join(path, "lock.json"), JSON.stringify({ pid: 1, host: "elsewhere", started: "" }));
    await expect(open()).rejects.toThrow(/process 1 on elsewhere.*delete .*lock\.json/);
  });

  it("lets exactly one of many take over", async () => {
    await writeFile(join(path, "lock.json"), JSON.stringify({ pid: process.pid, host: hostname(), started: "earlier boot:1" }));
    const results = await Promise.allSettled([open(), open(), open(), open()]);
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });
});

describe("resuming", () => {
  it("is needed for a folder that holds a run", async () => {
    await (await open({ resume: false })).release();
    await expect(open({ resume: false })).rejects.toThrow(/already holds a run: resume it, or choose another folder/);
    const again = await open();
    expect(again.resumed).toBe(true);
    await again.release();
  });

  it("names every changed key and both values", async () => {
    await (await open()).release();
    const changed = tinyConfig({ seed: 5, training: { steps: 9 } });
    const failure = open({ config: changed, inputs: { ...inputs, "data.train": "cccc" } });
    await expect(failure).rejects.toThrow(/seed: 1 in the run, 5 now/);
    await expect(failure).rejects.toThrow(/training\.steps: 6 in the run, 9 now/);
    await expect(failure).rejects.toThrow(/content of data\.train: "aaaa" in the run, "cccc" now/);
    // Refusing must not keep the folder locked.
    await (await open()).release();
  });

  it.each(["{", "null", "{}"])("refuses a folder whose description is damaged (%s)", async (text) => {
    await (await open()).release();
    await writeFile(join(path, "manifest.json"), text);
    const failure = open();
    await expect(failure).rejects.toThrow(RunFolderError);
    await expect(failure).rejects.toThrow(/manifest\.json is not the description of a run: restore it/);
  });

  it("refuses a folder whose configuration is gone", async () => {
    await (await open()).release();
    await rm(join(path, "config.yaml"));
    await expect(open()).rejects.toThrow(/config\.yaml is missing: restore it/);
  });

  it("treats a folder without a manifest as new: a kill came before the run began", async () => {
    await writeFile(join(path, "config.yaml"), "half: writ");
    const folder = await open({ resume: false });
    expect(folder.resumed).toBe(false);
    await folder.release();
    expect(await readFile(join(path, "config.yaml"), "utf8")).toContain("questionsPerStep");
  });
});

describe("lines", () => {
  it("leaves a half-written last line out, and drops it on truncation", async () => {
    const folder = await open();
    for (const step of [1, 2, 3]) await folder.appendLine("metrics.jsonl", { step });
    await appendFile(join(path, "metrics.jsonl"), '{"step":4,"mai');
    expect(await folder.readLines("metrics.jsonl")).toEqual([{ step: 1 }, { step: 2 }, { step: 3 }]);
    await folder.truncateLines("metrics.jsonl", 2);
    expect(await readFile(join(path, "metrics.jsonl"), "utf8")).toBe('{"step":1}\n{"step":2}\n');
    await folder.release();
  });

  it("names file and line of a broken line in the middle", async () => {
    const folder = await open();
    await writeFile(join(path, "metrics.jsonl"), '{"step":1}\nbroken\n{"step":3}\n');
    await expect(folder.readLines("metrics.jsonl")).rejects.toThrow(/metrics\.jsonl:2: not JSON \(broken\)/);
    await folder.release();
  });

  it("tells a step once", async () => {
    const folder = await open();
    for (const line of [{ step: 1 }, { step: 2 }, { step: 2, dev: 1 }]) await folder.putLine("checkpoints.jsonl", line);
    expect(await folder.readLines("checkpoints.jsonl")).toEqual([{ step: 1 }, { step: 2, dev: 1 }]);
    await folder.release();
  });
});
