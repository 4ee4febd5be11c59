import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listCheckpoints } from "../src/training/checkpoint.ts";
import { fingerprint } from "../src/training/fingerprint.ts";
import type { StepMetrics } from "../src/training/metrics.ts";
import { readJsonLines } from "../src/training/run-dir.ts";
import { embeddedConfig } from "./fixtures/training/embedded-config.ts";
import { writeTinyModels } from "./fixtures/training/tiny-models.ts";

const script = fileURLToPath(new URL("./fixtures/training/train-process.ts", import.meta.url));
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "cosearch-resume-"));
  await writeTinyModels(join(folder, "models"), embeddedConfig(), 150);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** `fileLimit`: KiB that a file may have, as a stand-in for a full disk. */
function start(run: string, mode = "new", fileLimit?: number): ChildProcess {
  const args = ["--import", "tsx", script, join(folder, "models"), join(folder, run), mode];
  const stdio = ["ignore", "pipe", "pipe"] as const;
  if (fileLimit === undefined) return spawn(process.execPath, args, { stdio: [...stdio] });
  return spawn("bash", ["-c", `ulimit -f ${fileLimit}; exec "$@"`, "bash", process.execPath, ...args], { stdio: [...stdio] });
}

/** Runs to the end, or kills the process (-9) at the first line that `killAt` accepts. Returns the lines, then the errors, then the exit code. */
async function follow(child: ChildProcess, killAt: (line: string, lines: readonly string[]) => boolean = () => false): Promise<string[]> {
  const lines: string[] = [];
  if (!child.stdout || !child.stderr) throw new Error("no output to follow");
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const exited = once(child, "exit");
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    if (killAt(line, lines)) child.kill("SIGKILL");
  });
  const [code, signal] = await exited;
  return [...lines, errors, `exit ${code ?? signal}`];
}

/** Everything that equal runs share: metrics without times, dev scores, weights of the last checkpoint, trajectories. */
async function outcome(run: string) {
  const path = join(folder, run);
  const metrics = await readJsonLines<StepMetrics>(join(path, "metrics.jsonl"));
  const trajectories = (await readdir(join(path, "trajectories"))).sort();
  return {
    metrics: metrics.map(({ timing, ...rest }) => rest),
    dev: await readFile(join(path, "evaluations", "dev.jsonl"), "utf8"),
    weights: [
      await fingerprint(join(path, "checkpoints", "step-6", "main")),
      await fingerprint(join(path, "checkpoints", "step-6", "ranker")),
    ],
    trajectories: await Promise.all(trajectories.map((name) => fingerprint(join(path, "trajectories", name)))),
  };
}

describe("a run on the embedded engine", () => {
  it("is the same twice, and the same when it was killed in the middle of a step, ran out of disk and was resumed", async () => {
    const whole = await follow(start("unbroken"));
    expect(whole.at(-1)).toBe("exit 0");
    const unbroken = await outcome("unbroken");
    expect(unbroken.metrics).toHaveLength(6);
    // A comparison of runs that learn nothing would show little: both policies must move.
    const moved = (norms: readonly (number | undefined)[]) => norms.filter((norm) => (norm ?? 0) > 0).length;
    expect(moved(unbroken.metrics.map(({ mainGradientNorm }) => mainGradientNorm))).toBe(6);
    expect(moved(unbroken.metrics.map(({ rankerGradientNorm }) => rankerGradientNorm))).toBeGreaterThan(3);

    expect((await follow(start("again"))).at(-1)).toBe("exit 0");
    expect(await outcome("again")).toEqual(unbroken);

    // In the update of step 4: one policy's optimiser may already have stepped, the other's not; the last checkpoint is that of step 3.
    const killed = await follow(start("killed"), (line, lines) => line.startsWith("update") && lines.includes("step 3"));
    expect(killed.at(-1)).toBe("exit SIGKILL");
    expect(killed).not.toContain("step 4");

    // A checkpoint that doesn't fit on the disk is told as such and spoils nothing.
    const full = await follow(start("killed", "resume", 16));
    expect(full.at(-1)).toBe("exit 1");
    expect(full.at(-2)).toMatch(/step-4 could not be saved: .*Earlier checkpoints are intact/);
    expect((await listCheckpoints(join(folder, "killed"))).map(({ manifest }) => manifest.step)).toContain(3);

    expect((await follow(start("killed", "resume"))).at(-1)).toBe("exit 0");
    expect(await outcome("killed")).toEqual(unbroken);
  }, 180_000);
});
