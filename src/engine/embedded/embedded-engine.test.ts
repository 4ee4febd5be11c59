import { execFile } from "node:child_process";
import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tinyShape } from "../../../test/fixtures/engine/tiny-shape.ts";
import { ConfigError, InfrastructureError, ModelError } from "../../errors.ts";
import { trainBpe, writeTokenizer } from "../bpe-trainer.ts";
import { conformanceChecks } from "../conformance.ts";
import type { OptimStepOptions } from "../engine.ts";
import { loadRenderer } from "../hf-renderer.ts";
import type { ModelShape } from "./architecture.ts";
import { createEmbeddedEngine } from "./embedded-engine.ts";

const shape: ModelShape = { ...tinyShape, vocabularySize: 280, maxPositions: 96 };
const fresh = { shape, seed: 5, initialDeviation: 0.3 };
const adamW: OptimStepOptions = { learningRate: 1e-2, beta1: 0.9, beta2: 0.99, eps: 1e-8, weightDecay: 0, maxGradNorm: 1 };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "engine-"));
  const files = trainBpe(["some words to learn from, some words"], {
    vocabularySize: 270,
    addedPieces: [{ content: "<|end|>" }],
    endOfText: "<|end|>",
  });
  await writeTokenizer(join(folder, "tokenizer"), files);
});
afterAll(() => rm(folder, { recursive: true }));

describe.each([
  ["a tied Llama, grouped-query", shape],
  ["an untied Qwen2", { ...shape, architecture: "qwen2", qkvBias: true, tiedHead: false, keyValueHeads: 4 } satisfies ModelShape],
])("conformance of %s", (_, tested) => {
  let count = 0;
  const checks = conformanceChecks({
    makeEngine: () => createEmbeddedEngine({ shape: tested, seed: 5, initialDeviation: 0.3 }),
    vocabularySize: tested.vocabularySize,
    makeFolder: async () => join(folder, `${tested.architecture}-${count++}`),
  });
  it.each(checks)("$name", ({ run }) => run());
});

describe("the thread", () => {
  it("leaves this one free while it works", async () => {
    const engine = await createEmbeddedEngine(fresh);
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    await engine.sample({ promptTokenIds: [1], samples: 64, maxTokens: 90, seed: 1 });
    clearInterval(timer);
    expect(turns).toBeGreaterThan(5);
    await engine.close();
  });

  it("ends at once when closed, rejecting what is under way and what comes", async () => {
    const engine = await createEmbeddedEngine(fresh);
    const sampled = engine.sample({ promptTokenIds: [1], samples: 5000, maxTokens: 90, seed: 1 });
    const scored = engine.logprobs([{ tokenIds: [1, 2], mask: [0, 1] }]);
    const closing = engine.close();
    await expect(sampled).rejects.toThrow("the embedded engine was closed");
    await expect(scored).rejects.toThrow("the embedded engine was closed");
    await closing;
    await expect(engine.publish()).rejects.toThrow("the embedded engine was closed");
    await engine.close();
  });

  it("may be closed within a call without bringing the process down, and without the process ending first", async () => {
    const script = `
      import { createEmbeddedEngine } from ${JSON.stringify(new URL("./embedded-engine.ts", import.meta.url).href)};
      for (let round = 0; round < 8; round++) {
        const engine = await createEmbeddedEngine(${JSON.stringify(fresh)});
        const sampled = engine.sample({ promptTokenIds: [1], samples: 500, maxTokens: 90, seed: round });
        await new Promise((resolve) => setTimeout(resolve, 5 * round));
        const failed = sampled.catch((error) => error.message);
        await Promise.all([engine.close(), engine.close()]);
        process.stdout.write(\`\${await failed}\\n\`);
      }`;
    const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", "--input-type=module", "--eval", script]);
    expect(stdout).toBe("the embedded engine was closed\n".repeat(8));
  });

  it("stops sampling for an aborted request, while others go on", async () => {
    const engine = await createEmbeddedEngine(fresh);
    const controller = new AbortController();
    const long = engine.sample({ promptTokenIds: [1], samples: 20000, maxTokens: 90, seed: 1, signal: controller.signal });
    const short = engine.sample({ promptTokenIds: [1], maxTokens: 3, seed: 1 });
    setTimeout(() => controller.abort(new Error("stopped by hand")), 50);
    await expect(long).rejects.toThrow("stopped by hand");
    // 20,000 sequences would take minutes: this only comes back soon when they were dropped.
    expect(await short).toHaveLength(1);
    await engine.close();
  });

  it("passes errors on with their class", async () => {
    await expect(createEmbeddedEngine({ modelFolder: join(folder, "nowhere") })).rejects.toThrow(ModelError);
    await expect(createEmbeddedEngine({})).rejects.toThrow(ConfigError);
    await expect(createEmbeddedEngine({ ...fresh, modelFolder: folder })).rejects.toThrow(/either modelFolder .* or shape/);
    const engine = await createEmbeddedEngine(fresh);
    await expect(engine.logprobs([{ tokenIds: [1, 999], mask: [0, 1] }])).rejects.toThrow(RangeError);
    await expect(engine.sample({ promptTokenIds: [999], maxTokens: 1, seed: 1 })).rejects.toThrow(
      /token id 999 is outside the model's vocabulary of 280/,
    );
    await engine.close();
  });

  it("rejects everything when it dies", async () => {
    const engine = await createEmbeddedEngine(fresh);
    // Not a call the worker knows: reading its fields throws outside of any call's own error handling.
    const { worker } = (engine as unknown as { thread: { calls: { worker: { postMessage(message: unknown): void } } } }).thread.calls;
    const sampled = engine.sample({ promptTokenIds: [1], samples: 500, maxTokens: 90, seed: 1 });
    worker.postMessage(null);
    await expect(sampled).rejects.toThrow(InfrastructureError);
    await expect(engine.publish()).rejects.toThrow(/the embedded engine's thread failed/);
    await engine.close();
  });
});

describe("weights", () => {
  it("are not sampled from between an optimiser step and publish", async () => {
    const engine = await createEmbeddedEngine(fresh);
    await engine.forwardBackward(
      [
        {
          policy: "main",
          groupKey: "g",
          tokenIds: [1, 2, 3],
          mask: [0, 1, 1],
          logprobs: [0, 0, 0],
          advantages: [0, 0, 0],
          weights: [0, 1, 1],
        },
      ],
      { kind: "cross-entropy" },
    );
    await engine.optimStep(adamW);
    await expect(engine.sample({ promptTokenIds: [1], maxTokens: 1, seed: 1 })).rejects.toThrow(
      /changed by optimStep and not published since: call publish\(\) first/,
    );
    expect(await engine.publish()).toBe(1);
    expect(await engine.sample({ promptTokenIds: [1], maxTokens: 1, seed: 1 })).toHaveLength(1);
    await engine.close();
  });

  it("survive an export, with the tokenizer, and give text", async () => {
    const tokenizerFolder = join(folder, "tokenizer");
    const engine = await createEmbeddedEngine({ ...fresh, tokenizerFolder });
    const request = { promptTokenIds: [5, 6, 7], samples: 3, maxTokens: 20, seed: 2 };
    const outputs = await engine.sample(request);
    const renderer = await loadRenderer(tokenizerFolder);
    expect(outputs.map(({ text }) => text)).toEqual(outputs.map(({ tokenIds }) => renderer.decode(tokenIds)));
    const target = join(folder, "exported");
    await engine.exportModel(target);
    await engine.close();
    const loaded = await createEmbeddedEngine({ modelFolder: target });
    expect(await loaded.sample(request)).toEqual(outputs);
    expect(loaded.shape).toEqual(shape);
    expect((await loadRenderer(target)).stopTokenIds).toEqual([0]);
    await loaded.close();
  });

  it("refuse a tokenizer of another size", async () => {
    const small = { ...shape, vocabularySize: 100 };
    await expect(createEmbeddedEngine({ ...fresh, shape: small, tokenizerFolder: join(folder, "tokenizer") })).rejects.toThrow(
      /tokenizer has \d+ entries, the model only 100/,
    );
  });

  it("are not touched by a broken state", async () => {
    const engine = await createEmbeddedEngine(fresh);
    const sequences = [{ tokenIds: [1, 2, 3], mask: [0, 1, 1] as const }];
    const before = await engine.logprobs(sequences);
    const state = join(folder, "state");
    await engine.saveState(state);
    await truncate(join(state, "optimizer.safetensors"), 5000);
    await expect(engine.loadState(state)).rejects.toThrow(/optimizer.safetensors is truncated/);
    await writeFile(
      join(state, "engine.json"),
      JSON.stringify({ formatVersion: 1, shape: { ...shape, layers: 3 }, step: 1, policyVersion: 0 }),
    );
    await expect(engine.loadState(state)).rejects.toThrow(/state is of another model: layers is 3, the engine's is 2/);
    await expect(engine.loadState(folder)).rejects.toThrow(/engine.json is missing/);
    expect(await engine.logprobs(sequences)).toEqual(before);
    await engine.close();
  });
});

describe("memory", () => {
  it("stays flat over hundreds of steps", async () => {
    const engine = await createEmbeddedEngine({ ...fresh, prefixCacheMegabytes: 1 });
    const steps = async (count: number) => {
      for (let step = 0; step < count; step++) {
        const outputs = await engine.sample({
          promptTokenIds: [1, 2, 1 + (step % 200)],
          samples: 8,
          maxTokens: 20 + (step % 30),
          seed: step,
        });
        const examples = outputs.map(({ tokenIds, logprobs }) => ({
          policy: "main" as const,
          groupKey: "g",
          tokenIds: [1, ...tokenIds],
          mask: [0 as const, ...tokenIds.map((): 1 => 1)],
          logprobs: [0, ...logprobs],
          advantages: [0, ...tokenIds.map(() => 1)],
          weights: [0, ...tokenIds.map(() => 0.01)],
        }));
        await engine.forwardBackward(examples, { kind: "clipped-surrogate", clipLow: 0.2, clipHigh: 0.2 });
        await engine.optimStep(adamW);
        await engine.publish();
      }
      return process.memoryUsage().rss;
    };
    const early = await steps(150);
    const late = await steps(250);
    await engine.close();
    expect((late - early) / 2 ** 20).toBeLessThan(40);
  }, 120_000);
});
