import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CliOptions, cosearch, makeTinyProject, type TinyProject } from "./fixtures/cli/tiny-project.ts";

let project: TinyProject;
beforeAll(async () => {
  project = await makeTinyProject();
}, 120_000);
afterAll(() => rmSync(project.folder, { recursive: true, force: true }));

/** Trains with these flags, which must fail; returns what it said. No stack traces, no half-made run. */
async function refused(flags: readonly string[], expectedCode: number, options: CliOptions = {}): Promise<string> {
  const run = join(project.folder, "refused");
  rmSync(run, { recursive: true, force: true });
  const { code, stdout, stderr } = await cosearch(["train", "--config", project.config, "--run", run, ...flags], options);
  expect({ code, stdout }).toEqual({ code: expectedCode, stdout: "" });
  expect(stderr).not.toMatch(/\n\s+at |unexpected error/);
  expect(existsSync(join(run, "manifest.json"))).toBe(false);
  return stderr;
}

/** A copy of the agent's folder that a test may damage. */
function damagedAgent(name: string): string {
  const folder = join(project.folder, name);
  cpSync(join(project.folder, "models", "agent"), folder, { recursive: true });
  return folder;
}

function questionsFile(name: string, lines: readonly string[]): string {
  const file = join(project.folder, name);
  writeFileSync(file, `${lines.join("\n")}\n`);
  return file;
}

const good = '{"id":"a","question":"what?","golden_answers":["x"]}';

describe("bad configuration", () => {
  test("an unknown key", async () => {
    const file = join(project.folder, "unknown-key.yaml");
    writeFileSync(file, `extends: config.yaml\ntraining:\n  stepps: 3\n`);
    expect(await refused(["--config", file], 2)).toMatch(/unknown-key\.yaml:3: training\.stepps: unknown key \(did you mean steps\?\)/);
  });

  test("a wrong type", async () => {
    expect(await refused(["--set", "grpo.groupSize=eight"], 2)).toMatch(
      /--set grpo\.groupSize=eight: grpo\.groupSize: expected a number .*got "eight"/,
    );
  });

  test("topK beyond the candidates", async () => {
    expect(await refused(["--set", "ranker.topK=5"], 2)).toMatch(/ranker\.topK: must not exceed retrieval\.candidates \(4\), got 5/);
  });

  test("a seed out of range", async () => {
    expect(await refused(["--seed", "-1"], 2)).toMatch(/--seed: seed: expected a value of at least 0 .*got -1/);
    expect(await refused(["--seed=4294967296"], 2)).toMatch(/--seed: seed: expected a value of at most 4294967295/);
  });

  test("an unknown flag and an unknown command", async () => {
    expect(await refused(["--stepps", "3"], 2)).toMatch(/unknown flag --stepps \(did you mean --steps\?\)/);
    const { code, stderr } = await cosearch(["trian"]);
    expect({ code, stderr }).toEqual({ code: 2, stderr: "cosearch: unknown command trian (did you mean train?)\n" });
  });
});

describe("bad models", () => {
  test("a missing model folder and a missing file in one", async () => {
    expect(await refused(["--set", `agent.model=${join(project.folder, "nowhere")}`], 2)).toMatch(/agent\.model: .*nowhere/);
    const folder = damagedAgent("no-weights");
    rmSync(join(folder, "model.safetensors"));
    expect(await refused(["--set", `agent.model=${folder}`], 2)).toMatch(/agent\.model: .*no-weights\/model\.safetensors/);
  });

  test("truncated weights", async () => {
    const folder = damagedAgent("truncated");
    const weights = join(folder, "model.safetensors");
    truncateSync(weights, statSync(weights).size - 1000);
    expect(await refused(["--set", `agent.model=${folder}`], 2)).toMatch(
      /agent\.model: .*truncated\/model\.safetensors.*(shorter|truncated|bytes)/,
    );
  });

  test("a tokenizer that doesn't match the model's vocabulary", async () => {
    const folder = damagedAgent("other-vocabulary");
    const file = join(folder, "config.json");
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), vocab_size: 100 }));
    expect(await refused(["--set", `agent.model=${folder}`], 2)).toMatch(
      /agent\.model: .*other-vocabulary: the tokenizer has \d+ entries, the model only 100/,
    );
  });
});

describe("models that don't fit together", () => {
  test("an unknown architecture, and a shard that is missing", async () => {
    const other = damagedAgent("other-architecture");
    const config = join(other, "config.json");
    writeFileSync(config, JSON.stringify({ ...JSON.parse(readFileSync(config, "utf8")), model_type: "gemma2" }));
    expect(await refused(["--set", `agent.model=${other}`], 2)).toMatch(
      /agent\.model: .*config\.json: model_type is "gemma2": supported are llama, mistral, qwen2, qwen3/,
    );
    const sharded = damagedAgent("sharded");
    rmSync(join(sharded, "model.safetensors"));
    const index = { weight_map: { "model.norm.weight": "model-00001-of-00001.safetensors" } };
    writeFileSync(join(sharded, "model.safetensors.index.json"), JSON.stringify(index));
    const shard = /agent\.model.*sharded\/model-00001-of-00001\.safetensors is missing: model\.safetensors\.index\.json says/s;
    expect(await refused(["--set", `agent.model=${sharded}`], 2)).toMatch(shard);
    const looked = await cosearch(["doctor", "--config", project.config, "--set", `agent.model=${sharded}`]);
    expect(looked.code).toBe(2);
    expect(looked.stdout).toMatch(shard);
  }, 30_000);

  test("a chat template that fails, and a budget beyond the context", async () => {
    const folder = damagedAgent("no-system");
    const file = join(folder, "tokenizer_config.json");
    const template = "{{ raise_exception('no system role') }}";
    rmSync(join(folder, "chat_template.jinja"), { force: true });
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), chat_template: template }));
    expect(await refused(["--set", `agent.model=${folder}`, "--set", "agent.prompt=full"], 2)).toMatch(
      /no-system: the chat template failed \(roles: system, user\): .*no system role.*; mend chat_template/,
    );
    expect(await refused(["--set", "agent.maxResponseTokens=100000"], 2)).toMatch(
      /agent\.maxResponseTokens is 100000, .* longest sequence is \d+: lower agent\.maxResponseTokens to \d+ or less/,
    );
  }, 30_000);
});

describe("bad data", () => {
  test("a malformed questions file names the line", async () => {
    const file = questionsFile("malformed.jsonl", [good, '{"id": "b", "question": ']);
    expect(await refused(["--set", `data.train=${file}`], 2)).toMatch(/malformed\.jsonl:2: not valid JSON/);
  });

  test("a question without gold answers", async () => {
    const file = questionsFile("no-gold.jsonl", [good, '{"id":"b","question":"why?","golden_answers":[]}']);
    expect(await refused(["--set", `data.train=${file}`], 2)).toMatch(
      /no-gold\.jsonl:2: golden_answers must be a list with at least one answer, got \[\]/,
    );
  });

  test("files that are not there", async () => {
    for (const field of ["train", "dev", "test"]) {
      expect(await refused(["--set", `data.${field}=nowhere.jsonl`], 2)).toMatch(
        /nowhere\.jsonl: can't be read \(ENOENT\): correct data\./,
      );
    }
    expect(await refused(["--set", "retrieval.corpus=nowhere.jsonl"], 2)).toMatch(/nowhere\.jsonl: can't be read \(ENOENT\)/);
  });
});

describe("run folders", () => {
  test("one that holds a run of another configuration is refused and left as it was", async () => {
    const run = join(project.folder, "run");
    const flags = ["train", "--config", project.config, "--run", run];
    expect(await cosearch(flags)).toMatchObject({ code: 0 });
    const before = readFileSync(join(run, "metrics.jsonl"), "utf8");
    const again = await cosearch(flags);
    expect(again).toMatchObject({ code: 3 });
    expect(again.stderr).toMatch(/run already holds a run: resume it, or choose another folder/);
    const other = await cosearch([...flags, "--resume", "--set", "grpo.groupSize=6"]);
    expect(other).toMatchObject({ code: 3 });
    expect(other.stderr).toMatch(/another configuration.*\n.*grpo\.groupSize.*4.*6/);
    expect(readFileSync(join(run, "metrics.jsonl"), "utf8")).toBe(before);
  }, 60_000);

  test("a missing checkpoint file is named", async () => {
    const run = join(project.folder, "run");
    const { code: none, stderr: noRun } = await cosearch(["evaluate", "--run", join(project.folder, "models")]);
    expect([none, noRun]).toEqual([3, expect.stringMatching(/models holds no run/)]);
    const { stderr: noStep } = await cosearch(["evaluate", "--run", run, "--checkpoint", "77"]);
    expect(noStep).toMatch(/--checkpoint 77: expected best, last or one of the steps [\d, ]+/);
    const damaged = join(project.folder, "damaged-run");
    cpSync(run, damaged, { recursive: true });
    const last = join(damaged, "checkpoints", "step-4");
    const [file = ""] = Object.keys((JSON.parse(readFileSync(join(last, "manifest.json"), "utf8")) as { files: object }).files);
    rmSync(join(last, file));
    const { code, stderr } = await cosearch(["evaluate", "--run", damaged, "--checkpoint", "last"]);
    expect(code).toBe(2);
    expect(stderr).toContain(`${join(last, file)} is missing: restore it`);
  }, 60_000);

  test("a full disk while saving is told, and what was saved before stays", async () => {
    const run = join(project.folder, "full");
    const { code, stderr } = await cosearch(["train", "--config", project.config, "--run", run], { fileLimit: 24 });
    expect(code).toBe(3);
    expect(stderr).toMatch(/could not be saved: .*free space or choose another disk, then resume/);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect((await cosearch(["train", "--resume", "--run", run])).code).toBe(0);
  }, 60_000);

  test("one that another process uses is refused", async () => {
    const run = join(project.folder, "locked");
    mkdirSync(run);
    const { lockFolder } = await import("../src/files/folder-lock.ts");
    const release = await lockFolder(run);
    try {
      const { code, stderr } = await cosearch(["train", "--config", project.config, "--run", run]);
      expect(code).toBe(3);
      expect(stderr).toMatch(/is in use by process \d+/);
    } finally {
      await release();
    }
  }, 30_000);
});
