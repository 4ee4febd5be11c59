import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tinyShape } from "../../../test/fixtures/engine/tiny-shape.ts";
import { ConfigError, ModelError } from "../../errors.ts";
import { conformanceChecks } from "../conformance.ts";
import type { LoraShape, OptimStepOptions, TrainableEngine, TrainingExample } from "../engine.ts";
import type { ModelShape } from "./architecture.ts";
import { createEmbeddedEngine } from "./embedded-engine.ts";
import { readModelShape } from "./hf-folder.ts";
import { readAdapterFolder, readLoraShape } from "./peft-folder.ts";

const fixtures = fileURLToPath(new URL("../../../test/fixtures/engine/", import.meta.url));
const shape: ModelShape = { ...tinyShape, vocabularySize: 280, maxPositions: 96 };
const lora: LoraShape = { rank: 4, alpha: 8, targets: ["q_proj", "v_proj", "o_proj", "gate_proj", "down_proj"] };
const fresh = { shape, seed: 5, initialDeviation: 0.3 };
const adamW: OptimStepOptions = { learningRate: 2e-2, beta1: 0.9, beta2: 0.99, eps: 1e-8, weightDecay: 0, maxGradNorm: 1 };
const sequences = [{ tokenIds: [1, 2, 3, 4, 5, 6], mask: [0, 0, 1, 1, 1, 1] as const }];
const example: TrainingExample = {
  policy: "main",
  groupKey: "g",
  tokenIds: [1, 2, 3, 4, 5, 6],
  mask: [0, 0, 1, 1, 1, 1],
  logprobs: [0, 0, 0, 0, 0, 0],
  advantages: [0, 0, 0, 0, 0, 0],
  weights: [0, 0, 1, 1, 1, 1],
};

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "lora-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function train(engine: TrainableEngine, steps: number): Promise<void> {
  for (let step = 0; step < steps; step++) {
    await engine.forwardBackward([example], { kind: "cross-entropy" });
    await engine.optimStep(adamW);
  }
  await engine.publish();
}

describe.each([
  ["whole-graph" as const, lora],
  ["layer-by-layer" as const, { ...lora, targets: ["k_proj", "up_proj"] } satisfies LoraShape],
])("conformance of an adapter, %s", (execution, adapter) => {
  let count = 0;
  const checks = conformanceChecks({
    makeEngine: () => createEmbeddedEngine({ ...fresh, lora: adapter, adapterSeed: 3, execution }),
    vocabularySize: shape.vocabularySize,
    makeFolder: async () => join(folder, `${execution}-${count++}`),
  });
  it.each(checks)("$name", ({ run }) => run());
});

describe("an adapter", () => {
  it("begins without effect, learns, and leaves the policies beside it alone", async () => {
    const engine = await createEmbeddedEngine({ ...fresh, lora });
    const plain = await engine.beside({});
    const other = await engine.beside({ lora, adapterSeed: 9, trainable: true });
    const before = await plain.logprobs(sequences);
    expect(await engine.logprobs(sequences)).toEqual(before);
    await train(engine, 5);
    const [after = []] = await engine.logprobs(sequences);
    expect(after.at(-1)).toBeGreaterThan((before[0]?.at(-1) ?? 0) + 0.5);
    expect(await plain.logprobs(sequences)).toEqual(before);
    expect(await other.logprobs(sequences)).toEqual(before);
    await train(other, 1);
    expect(await engine.logprobs(sequences)).toEqual([after]);
    await engine.close();
    // The weights stay for those that are left.
    expect(await plain.logprobs(sequences)).toEqual(before);
    await expect(engine.publish()).rejects.toThrow("the embedded engine was closed");
    await Promise.all([plain.close(), other.close()]);
  });

  it("is exported for PEFT and comes back the same; merged, the model gives the same log-probabilities", async () => {
    const engine = await createEmbeddedEngine({ ...fresh, lora });
    const base = join(folder, "base");
    await engine.exportModel(base);
    await train(engine, 3);
    const trained = await engine.logprobs(sequences);
    const [adapterFolder, merged] = [join(folder, "adapter"), join(folder, "merged")];
    await engine.exportAdapter(adapterFolder, "owner/base");
    await engine.exportModel(merged);
    await engine.close();
    expect(JSON.parse(await readFile(join(adapterFolder, "adapter_config.json"), "utf8"))).toMatchObject({
      base_model_name_or_path: "owner/base",
      r: 4,
      lora_alpha: 8,
      target_modules: lora.targets,
    });
    const again = await createEmbeddedEngine({ modelFolder: base, adapterFolder });
    expect(await again.logprobs(sequences)).toEqual(trained);
    await again.close();
    const whole = await createEmbeddedEngine({ modelFolder: merged });
    const [logprobs = []] = await whole.logprobs(sequences);
    logprobs.forEach((logprob, index) => {
      expect(logprob).toBeCloseTo(trained[0]?.[index] as number, 4);
    });
    await whole.close();
  });

  it("resumes exactly from a state, which no other kind of engine takes", async () => {
    const engine = await createEmbeddedEngine({ ...fresh, lora });
    await train(engine, 2);
    const state = join(folder, "state");
    await engine.saveState(state);
    await train(engine, 2);
    const expected = await engine.logprobs(sequences);
    await engine.loadState(state);
    await train(engine, 2);
    expect(await engine.logprobs(sequences)).toEqual(expected);
    await engine.close();
    const whole = await createEmbeddedEngine(fresh);
    await expect(whole.loadState(state)).rejects.toThrow(
      /another kind of training: an adapter .*"rank":4.* the engine's is trained as a whole/,
    );
    await whole.close();
    const wider = await createEmbeddedEngine({ ...fresh, lora: { ...lora, rank: 8 } });
    await expect(wider.loadState(state)).rejects.toThrow(/"rank":4.* the engine's is an adapter .*"rank":8/);
    await wider.close();
  });

  it("needs frozen weights to share, and weights that train to train", async () => {
    const whole = await createEmbeddedEngine(fresh);
    await expect(whole.beside({ lora })).rejects.toThrow(ConfigError);
    await expect(whole.exportAdapter(join(folder, "none"), "x")).rejects.toThrow("this engine has no adapter: use exportModel");
    await whole.close();
    const frozen = await createEmbeddedEngine({ ...fresh, trainable: false });
    for (const call of [
      () => frozen.forwardBackward([example], { kind: "cross-entropy" }),
      () => frozen.optimStep(adamW),
      () => frozen.saveState(join(folder, "frozen")),
    ]) {
      await expect(call()).rejects.toThrow("this engine's weights are frozen (trainable: false)");
    }
    expect(await frozen.sample({ promptTokenIds: [1], maxTokens: 2, seed: 1 })).toHaveLength(1);
    await frozen.close();
  });
});

describe("an adapter folder", () => {
  /** A copy of a fixture with some fields of its adapter_config.json changed. */
  async function changed(fields: Record<string, unknown>): Promise<string> {
    const target = join(folder, "changed");
    await cp(`${fixtures}tiny-llama-lora`, target, { recursive: true, force: true });
    const file = join(target, "adapter_config.json");
    await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, "utf8")), ...fields }));
    return target;
  }

  it("tells its shape", async () => {
    expect(await readLoraShape(`${fixtures}tiny-llama-lora`)).toEqual({
      rank: 3,
      alpha: 3,
      rankStabilised: true,
      targets: ["q_proj", "v_proj"],
    });
  });

  it.each([
    [{ peft_type: "IA3" }, /adapter_config.json: peft_type is "IA3": only "LORA" is supported/],
    [{ use_dora: true }, /use_dora is true: only false is supported/],
    [{ modules_to_save: ["lm_head"] }, /modules_to_save is \["lm_head"\]/],
    [{ rank_pattern: { q_proj: 2 } }, /rank_pattern is .* only one rank and alpha/],
    [{ target_modules: ["q_proj", "embed_tokens"] }, /target_modules is .* expected a list of q_proj/],
    [{ target_modules: "all-linear" }, /target_modules is "all-linear"/],
    [{ r: 0 }, /r is 0: expected a positive integer/],
    [{ lora_alpha: undefined }, /lora_alpha is missing: expected a positive number/],
    [{ r: 2 }, /tensor .*lora_A.weight has shape \[3, 32\], expected \[2, 32\]/],
  ])("is refused with %j", async (fields, message) => {
    const shape = await readModelShape(`${fixtures}tiny-llama`);
    const failure = changed(fields).then((path) => readAdapterFolder(path, shape));
    await expect(failure).rejects.toThrow(ModelError);
    await expect(failure).rejects.toThrow(message);
  });

  it("is refused for another base model, and for other settings than those asked for", async () => {
    const qwen = await readModelShape(`${fixtures}tiny-qwen2`);
    await expect(readAdapterFolder(`${fixtures}tiny-llama-lora`, qwen)).rejects.toThrow(
      /tensor .*layers.2.self_attn.q_proj.lora_A.weight does not belong to an adapter of this base model \(qwen2, 2 layers, hidden size 32\)/,
    );
    const options = { modelFolder: `${fixtures}tiny-llama`, adapterFolder: `${fixtures}tiny-llama-lora` };
    await expect(createEmbeddedEngine({ ...options, lora: { rank: 8, alpha: 3, targets: ["q_proj", "v_proj"] } })).rejects.toThrow(
      /the adapter's rank is 3, 8 is asked for/,
    );
  });
});
