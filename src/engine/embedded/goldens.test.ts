import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Loss, TrainingExample } from "../engine.ts";
import { loadModelFolder } from "./hf-folder.ts";
import { readAdapterFolder } from "./peft-folder.ts";
import { SafetensorsFile } from "./safetensors.ts";
import { EmbeddedSampler } from "./sampler.ts";
import { EmbeddedTrainer } from "./trainer.ts";

// Made once with PyTorch and transformers by bench/peers/make-goldens.py.
const fixtures = fileURLToPath(new URL("../../../test/fixtures/engine/", import.meta.url));

interface Golden {
  readonly examples: readonly Omit<TrainingExample, "policy" | "groupKey">[];
  readonly crossEntropy: { readonly loss: number };
  readonly clippedSurrogate: {
    readonly options: Omit<Extract<Loss, { kind: "clipped-surrogate" }>, "kind">;
    readonly loss: number;
    readonly tokens: number;
    readonly clipFraction: number;
    readonly kl: number;
    readonly entropy: number;
  };
  readonly greedy: readonly { readonly promptTokenIds: readonly number[]; readonly tokenIds: readonly number[] }[];
}

/** A model, or an adapter (folder `<base>-lora`, written by PEFT) on its frozen base. */
async function loadFixture(model: string) {
  const [, base] = /^(.*)-lora$/.exec(model) ?? [];
  const parameters = await loadModelFolder(fixtures + (base ?? model), { trainable: base === undefined });
  return { parameters, adapter: base === undefined ? undefined : await readAdapterFolder(fixtures + model, parameters.shape) };
}

describe.each(["tiny-llama", "tiny-qwen2", "tiny-llama3", "tiny-qwen3", "tiny-mistral", "tiny-llama-lora", "tiny-qwen2-lora"])(
  "%s, against PyTorch",
  (model) => {
    let golden: Golden;
    let tensors: SafetensorsFile;
    let examples: TrainingExample[];

    beforeAll(async () => {
      golden = JSON.parse(await readFile(`${fixtures}${model}/golden.json`, "utf8"));
      tensors = await SafetensorsFile.open(`${fixtures}${model}/golden.safetensors`);
      examples = golden.examples.map((example) => ({ ...example, policy: "main", groupKey: "" }));
    });
    afterAll(() => tensors.close());

    const read = async (name: string) => {
      const shape = tensors.shapeOf(name) ?? [];
      const numbers = new Float32Array(shape.reduce((product, size) => product * size, 1));
      await tensors.readInto(name, shape, numbers);
      return numbers;
    };

    it("continues ragged prompts greedily with the same tokens", async () => {
      const { parameters, adapter } = await loadFixture(model);
      const sampler = await EmbeddedSampler.create(parameters, { threads: 1, prefixCacheMegabytes: 0, adapter });
      const requests = golden.greedy.map(({ promptTokenIds }) => ({ promptTokenIds, maxTokens: 16, temperature: 0, seed: 1 }));
      const outputs = await sampler.sample(requests);
      expect(outputs.map((output) => (output instanceof Error ? output : output[0]?.tokenIds))).toEqual(
        golden.greedy.map(({ tokenIds }) => tokenIds),
      );
      await sampler.release();
    });

    describe.each(["whole-graph", "layer-by-layer"] as const)("%s", (execution) => {
      const trainer = async () => {
        const { parameters, adapter } = await loaded;
        return new EmbeddedTrainer(parameters.shape, parameters, { threads: 1, microBatchTokens: 64, execution, adapter });
      };
      const loaded = loadFixture(model);

      const checkGradients = async (kind: string, engine: EmbeddedTrainer) => {
        for (const [name, gradient] of engine.gradients()) {
          const expected = await read(`${kind}/${name}`);
          const scale = expected.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
          const worst = expected.reduce((most, value, index) => Math.max(most, Math.abs(value - (gradient[index] as number))), 0);
          expect(worst / scale, name).toBeLessThan(2e-5);
        }
        for (const gradient of engine.gradients().values()) gradient.fill(0);
      };

      it("gives the same log-probabilities", async () => {
        const engine = await trainer();
        const logprobs = await engine.logprobs(examples);
        for (const [index, example] of examples.entries()) {
          const expected = await read(`logprobs.${index}`);
          for (const [position, trained] of example.mask.entries()) {
            if (trained === 1) expect(logprobs[index]?.[position]).toBeCloseTo(expected[position] as number, 4);
            else expect(logprobs[index]?.[position]).toBe(0);
          }
        }
        await engine.close();
      });

      it("gives the same logits: every next token of one prompt, which the continuations share", async () => {
        const engine = await trainer();
        const { tokenIds } = examples[1] as TrainingExample;
        const mask = [...tokenIds.map((): 0 => 0), 1 as const];
        const logits = (await read("logits.1")).slice(-engine.shape.vocabularySize);
        const normaliser = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit), 0));
        const logprobs = await engine.logprobs([...logits.keys()].map((next) => ({ tokenIds: [...tokenIds, next], mask })));
        for (const [next, logit] of logits.entries()) expect(logprobs[next]?.at(-1)).toBeCloseTo(logit - normaliser, 4);
        await engine.close();
      });

      it("gives the same cross-entropy and gradients, auxiliary targets included", async () => {
        const engine = await trainer();
        const result = await engine.forwardBackward(examples, { kind: "cross-entropy" });
        expect(result.loss / golden.crossEntropy.loss).toBeCloseTo(1, 5);
        await checkGradients("cross-entropy", engine);
        await engine.close();
      });

      it("gives the same clipped surrogate, divergence, entropy and gradients", async () => {
        const engine = await trainer();
        const { options, ...expected } = golden.clippedSurrogate;
        const result = await engine.forwardBackward(examples, { kind: "clipped-surrogate", ...options });
        expect(result.loss).toBeCloseTo(expected.loss, 4);
        expect(result.tokens).toBe(expected.tokens);
        expect(result.clipFraction).toBeCloseTo(expected.clipFraction, 9);
        expect(result.kl / expected.kl).toBeCloseTo(1, 4);
        expect(result.entropy / expected.entropy).toBeCloseTo(1, 5);
        await checkGradients("clipped-surrogate", engine);
        await engine.close();
      });
    });
  },
);
