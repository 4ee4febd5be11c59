import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "citty";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ConfigError } from "../errors.ts";
import { init } from "./init.ts";
import { loadConfig } from "./load-config.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "init-"));
  vi.spyOn(process.stdout, "write").mockReturnValue(true);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(folder, { recursive: true });
});

const run = (...rawArgs: string[]) => runCommand(init, { rawArgs });

describe("cosearch init", () => {
  it.each(["lora", "tiny", "endpoint"])("writes a configuration that loads (%s), with comments", async (model) => {
    const file = join(folder, "deep", "mine.yaml");
    await run("--model", model, "--out", file, "--corpus", join(folder, "notes"), "--train", join(folder, "q.jsonl"));
    const config = loadConfig({ file });
    expect(config.data.train).toBe(join(folder, "q.jsonl"));
    expect(config.retrieval).toMatchObject({ corpus: join(folder, "notes"), index: { folder: join(folder, "deep", "index") } });
    expect((await readFile(file, "utf8")).split("\n").filter((line) => line.includes("# ")).length).toBeGreaterThan(4);
    if (model === "endpoint") expect(config.agent.endpoint?.url).toBe("http://127.0.0.1:8000/v1");
    else expect(config.agent.model).toBeDefined();
    if (model === "lora") expect(config.ranker).toMatchObject({ model: config.agent.model, lora: { rank: 16 } });
  });

  it("takes several corpora, an encoder, and values that YAML must quote", async () => {
    const file = join(folder, "mine.yaml");
    await run(
      "--out",
      file,
      "--corpus",
      join(folder, "a: b"),
      "--corpus",
      join(folder, "#c"),
      "--embedder",
      "intfloat/e5-base-v2",
      "--name",
      "owner/model",
    );
    expect(loadConfig({ file })).toMatchObject({
      retrieval: {
        corpus: [join(folder, "a: b"), join(folder, "#c")],
        kind: "hybrid",
        embedder: { kind: "onnx", model: "intfloat/e5-base-v2" },
      },
      agent: { model: "owner/model" },
    });
  });

  it("replaces nothing, and names the cases", async () => {
    const file = join(folder, "mine.yaml");
    await run("--out", file);
    await expect(run("--out", file)).rejects.toThrow(ConfigError);
    await expect(run("--out", file)).rejects.toThrow(/is there already: name another with --out/);
    await expect(run("--out", join(folder, "other.yaml"), "--model", "huge")).rejects.toThrow(
      "init: --model huge: expected lora, tiny, endpoint",
    );
  });
});
