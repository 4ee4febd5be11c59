import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import type { Config } from "../config.ts";
import { requireTrainable } from "./endpoint-policy.ts";
import { loadConfig } from "./load-config.ts";

const folder = mkdtempSync(join(tmpdir(), "cosearch-endpoint-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const url = "http://127.0.0.1:9/v1";
function load(settings: object): Config {
  const file = join(folder, "run.yaml");
  const base = {
    system: "fixed-ranker",
    data: { train: "a", test: "b" },
    retrieval: { corpus: "c" },
    agent: { model: "m" },
    ranker: { model: "r" },
  };
  writeFileSync(file, stringify({ ...base, ...settings }));
  return loadConfig({ file, set: [] });
}

describe("agent.endpoint and ranker.endpoint", () => {
  it("stand for a model, with every setting at its default", () => {
    const { agent, ranker } = load({
      agent: { endpoint: { url } },
      ranker: { endpoint: { url, tokenizer: "tokenizer", extraBody: { top_k: -1 } } },
    });
    expect(agent.endpoint).toEqual({
      url,
      mode: "auto",
      apiKeyVariable: "OPENAI_API_KEY",
      timeoutSeconds: 300,
      retries: 5,
      concurrency: 16,
      toolRole: false,
      extraBody: {},
    });
    expect(ranker.endpoint).toMatchObject({ tokenizer: join(folder, "tokenizer"), extraBody: { top_k: -1 } });
    const hub = load({ agent: { endpoint: { url, tokenizer: "Qwen/Qwen2.5-0.5B-Instruct" } } });
    expect(hub.agent.endpoint?.tokenizer).toBe("Qwen/Qwen2.5-0.5B-Instruct");
  });

  it.each<[string, object, RegExp]>([
    ["no model", { agent: {} }, /agent\.model: is missing: name a model folder, or a server in agent\.endpoint/],
    ["both", { agent: { model: "m", endpoint: { url } } }, /agent\.endpoint: excludes agent\.model: name a model to run here, or a server/],
    ["an adapter", { ranker: { lora: {}, endpoint: { url } } }, /ranker\.lora: is for models run here/],
    ["a grammar", { agent: { grammar: true, endpoint: { url } } }, /agent\.grammar: is for models run here/],
    ["no tokenizer", { agent: { endpoint: { url, mode: "completions" } } }, /agent\.endpoint\.tokenizer: is needed by mode completions/],
    [
      "a tokenizer for chat",
      { agent: { endpoint: { url, mode: "chat", tokenizer: "t" } } },
      /agent\.endpoint\.tokenizer: is for mode completions/,
    ],
    [
      "a parameter set elsewhere",
      { agent: { endpoint: { url, extraBody: { stop: ["x"] } } } },
      /agent\.endpoint\.extraBody\.stop: is set by other/,
    ],
    [
      "a shared server for the ranker alone",
      { system: "cosearch", ranker: { sharedBackbone: true, endpoint: { url } } },
      /ranker\.sharedBackbone: takes the agent's/,
    ],
    [
      "a key that is unknown",
      { agent: { endpoint: { url, apiKey: "secret" } } },
      /agent\.endpoint\.apiKey: unknown key \(did you mean apiKeyVariable\?\)|agent\.endpoint\.apiKey: unknown key; known here: url, model/,
    ],
  ])("refuse %s", (_, settings, message) => {
    expect(() => load(settings)).toThrow(expect.objectContaining({ name: "ConfigError", message: expect.stringMatching(message) }));
  });

  it("are never trained: a frozen ranker may be a server's, the agent and a trained ranker not", () => {
    const endpoint = { url };
    expect(() => requireTrainable(load({}))).not.toThrow();
    expect(() => requireTrainable(load({ ranker: { endpoint } }))).not.toThrow();
    expect(() => requireTrainable(load({ agent: { endpoint } }))).toThrow(
      /agent\.endpoint: a server's weights can't be trained from here: name a model/,
    );
    expect(() => requireTrainable(load({ system: "cosearch", ranker: { endpoint } }))).toThrow(
      /ranker\.endpoint: .*system cosearch trains its ranker/,
    );
  });
});
