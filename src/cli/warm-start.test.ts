import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CliOptions, cosearch, makeTinyProject, type TinyProject } from "../../test/fixtures/cli/tiny-project.ts";

let project: TinyProject;
beforeAll(async () => {
  project = await makeTinyProject();
}, 30_000);
afterAll(() => rmSync(project.folder, { recursive: true, force: true }));

const room = ["agent.maxTurnTokens=90", "agent.maxResponseTokens=215", "ranker.maxTokens=60"].flatMap((set) => ["--set", set]);
const warmStart = (args: readonly string[], options: CliOptions = {}) =>
  cosearch(["warm-start", "--config", "config.yaml", "--steps", "6", "--batch", "4", "--rate", "3e-3", "--save-every", "2", ...args], {
    cwd: project.folder,
    ...options,
  });
const file = (name: string) => readFileSync(join(project.folder, name));

describe("cosearch warm-start", () => {
  it("teaches both policies, writes a configuration that trains from them, and goes on exactly after Ctrl-C", async () => {
    const straight = await warmStart([...room, "--check", "2", "--json", "--write-config", "warm.yaml", "--out", "one"]);
    expect(straight).toMatchObject({ code: 0, stderr: "" });
    const lines = straight.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const losses = lines.filter(({ policy }) => policy === "agent").map(({ loss }) => loss);
    expect(losses.at(-1)).toBeLessThan(losses[0]);
    expect(lines.at(-1)).toMatchObject({ demonstrations: 6, questions: 6, before: { questions: 2 }, after: { questions: 2 } });
    expect(file("one/demonstrations.jsonl").toString()).toContain('"taught":true');
    expect(existsSync(join(project.folder, "one/state"))).toBe(false);

    const interrupted = await warmStart([...room, "--check", "2", "--json", "--out", "two"], { interruptAt: /"ranker","step":3/ });
    expect([interrupted.code, interrupted.stderr]).toEqual([130, expect.stringContaining("with --resume goes on")]);
    expect(await warmStart([...room, "--check", "2", "--json", "--out", "two", "--resume"])).toMatchObject({ code: 0 });
    for (const policy of ["agent", "ranker"])
      expect(file(`two/${policy}/model.safetensors`).equals(file(`one/${policy}/model.safetensors`))).toBe(true);

    const trained = await cosearch(["train", "--config", "warm.yaml", "--run", "run", "--steps", "1"], { cwd: project.folder });
    expect(trained).toMatchObject({ code: 0 });
  }, 90_000);

  it("tells why there is no demonstration, and what is wrong with a flag", async () => {
    const none = await warmStart(["--check", "0", "--out", "none"]);
    expect([none.code, none.stderr]).toEqual([
      2,
      expect.stringMatching(/no demonstration for the ranker came of 6 questions: ranker: a ranking is longer than its budget \(6\)/),
    ]);
    const wrong = await warmStart(["--policy", "judge"]);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("--policy judge: expected agent, ranker or both")]);
  }, 60_000);
});
