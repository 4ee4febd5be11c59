import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { stringify } from "yaml";
import { tinyConfig } from "../../test/fixtures/training/tiny-run.ts";
import { loadConfig } from "./load-config.ts";
import { resultKeys, warmConfigText } from "./warm-start-config.ts";

const folder = mkdtempSync(join(tmpdir(), "cosearch-warm-config-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("begins from adapters and models, keeps what --set said, and can be moved with its results", () => {
  const base = join(folder, "base.yaml");
  writeFileSync(
    base,
    stringify({
      data: { train: "t.jsonl", test: "t.jsonl" },
      retrieval: { corpus: "c.jsonl" },
      agent: { model: "model", lora: { rank: 4 } },
      ranker: { model: "ranker", lora: { rank: 4 } },
      grpo: { groupSize: 4 },
      training: { questionsPerStep: 2, questionsPerMinibatch: 2 },
    }),
  );
  const keys = resultKeys(
    [
      { policy: "agent", kind: "adapter", folder: join(folder, "warm/agent") },
      { policy: "ranker", kind: "model", folder: join(folder, "warm/ranker") },
    ],
    tinyConfig(),
  );
  const file = join(folder, "warm.yaml");
  const text = warmConfigText(file, base, ["training.steps=7", "ranker.lora=null", "seed=3"], keys);
  expect(text).not.toContain(folder);
  writeFileSync(file, text);
  const config = loadConfig({ file });
  expect(config.agent).toMatchObject({ model: join(folder, "model"), lora: { rank: 4, from: join(folder, "warm/agent") } });
  expect([config.ranker.model, config.ranker.lora]).toEqual([join(folder, "warm/ranker"), undefined]);
  expect([config.training.steps, config.training.questionsPerStep, config.seed]).toEqual([7, 2, 3]);
});

it("names one folder where one policy does both", () => {
  const shared = { ...tinyConfig(), ranker: { ...tinyConfig().ranker, sharedBackbone: true } };
  const both = (["agent", "ranker"] as const).map((policy) => ({ policy, kind: "adapter" as const, folder: `/w/${policy}` }));
  expect(resultKeys(both, shared)).toEqual([["agent.lora.from", "/w/agent"]]);
});
