/** Our side of `npm run bench -- parity`: the embedded engine's parts, in this thread, down to distributions and gradients. */
import { Decoder } from "../src/engine/embedded/decoder.ts";
import { loadModelFolder } from "../src/engine/embedded/hf-folder.ts";
import { AdapterParameters } from "../src/engine/embedded/lora.ts";
import type { Parameters } from "../src/engine/embedded/parameters.ts";
import { EmbeddedSampler } from "../src/engine/embedded/sampler.ts";
import { EmbeddedTrainer } from "../src/engine/embedded/trainer.ts";
import type { LoraShape, Loss, TrainingExample } from "../src/engine/engine.ts";
import { groupAdvantages } from "../src/grpo/advantages.ts";
import { withAggregation } from "../src/grpo/examples.ts";
import { Rng } from "../src/rng.ts";

/** The loss that is compared: every term of Eq. 3 takes part. */
export const parityLoss = {
  kind: "clipped-surrogate",
  clipLow: 0.2,
  clipHigh: 0.28,
  dualClip: 3,
  klCoefficient: 0.05,
  entropyCoefficient: 0.01,
} as const satisfies Loss;

const samplesPerPrompt = 4;

/** A loaded model, frozen with an adapter or trained as a whole. */
export class ParitySide {
  private constructor(
    readonly parameters: Parameters,
    readonly adapter: AdapterParameters | undefined,
    private readonly threads: number,
  ) {}

  /** @param lora A new adapter with random A and B: one that begins without effect would have no gradient in A. */
  static async load(model: string, threads: number, lora?: LoraShape): Promise<ParitySide> {
    const parameters = await loadModelFolder(model, { trainable: lora === undefined });
    if (lora === undefined) return new ParitySide(parameters, undefined, threads);
    const adapter = new AdapterParameters(parameters.shape, lora);
    adapter.initialise(1);
    for (const { name } of adapter.specs.filter((spec) => spec.name.endsWith(".lora_B.weight"))) {
      const rng = Rng.stream(1, "parity", name);
      const weights = adapter.view(name);
      for (let index = 0; index < weights.length; index++) weights[index] = 0.02 * rng.normal();
    }
    return new ParitySide(parameters, adapter, threads);
  }

  /** The same weights without the adapter. */
  bare(): ParitySide {
    return new ParitySide(this.parameters, undefined, this.threads);
  }

  /** Log-probabilities over the vocabulary after each of the last `count` tokens: the first by the prefill graph, the others by single steps. */
  async distributions(tokenIds: readonly number[], count: number): Promise<Float32Array[]> {
    const decoder = await this.decoder();
    const one = Float32Array.of(1);
    decoder.cache.reserve(1, tokenIds.length);
    decoder.cache.addRow();
    const found = [await decoder.extend(0, [tokenIds.slice(0, tokenIds.length - count + 1)], one)];
    for (const token of tokenIds.slice(tokenIds.length - count + 1)) found.push(await decoder.step([token], one));
    decoder.cache.removeRow(0);
    return found.map((probabilities) => probabilities.map(Math.log));
  }

  private lastDecoder: Decoder | undefined;

  private async decoder(): Promise<Decoder> {
    this.lastDecoder ??= await Decoder.create(this.parameters, { threads: this.threads, adapter: this.adapter });
    return this.lastDecoder;
  }

  async close(): Promise<void> {
    await this.lastDecoder?.release();
  }

  /** Continuations of all prompts in one batch; nothing stops them. */
  async sample(prompts: readonly (readonly number[])[], maxTokens: number, temperature: 0 | 1, samples = 1): Promise<number[][]> {
    const sampler = await EmbeddedSampler.create(this.parameters, {
      threads: this.threads,
      prefixCacheMegabytes: 0,
      adapter: this.adapter,
    });
    const requests = prompts.map((promptTokenIds, seed) => ({ promptTokenIds, maxTokens, temperature, samples, seed }));
    const outputs = await sampler.sample(requests);
    await sampler.release();
    return outputs.flatMap((output) => {
      if (output instanceof Error) throw output;
      return output.map(({ tokenIds }) => [...tokenIds]);
    });
  }

  private async trained<Result>(
    execution: "whole-graph" | "layer-by-layer",
    use: (trainer: EmbeddedTrainer) => Promise<Result>,
  ): Promise<Result> {
    const { parameters, threads, adapter } = this;
    const trainer = new EmbeddedTrainer(parameters.shape, parameters, { threads, microBatchTokens: 512, execution, adapter });
    try {
      return await use(trainer);
    } finally {
      await trainer.close();
    }
  }

  /** Log-probabilities of the sequences' own tokens by the training graphs. */
  logprobs(sequences: readonly (readonly number[])[], execution: "whole-graph" | "layer-by-layer"): Promise<number[][]> {
    const scored = sequences.map((tokenIds) => ({ tokenIds, mask: tokenIds.map((_, index): 0 | 1 => (index === 0 ? 0 : 1)) }));
    return this.trained(execution, (trainer) => trainer.logprobs(scored));
  }

  /** Loss and gradient by name; copies, and the accumulated gradient is cleared. */
  gradients(examples: readonly TrainingExample[], execution: "whole-graph" | "layer-by-layer") {
    return this.trained(execution, async (trainer) => {
      const result = await trainer.forwardBackward(examples, parityLoss);
      const found = trainer.gradients();
      const gradients = new Map([...found].map(([name, gradient]) => [name, gradient.slice()]));
      for (const gradient of found.values()) gradient.fill(0);
      return { result, gradients };
    });
  }

  /**
   * Groups of sampled completions with random rewards, group-normalised, token-mean. The sampling and reference policies are slightly
   * off, and every seventh token far off, so that every branch of the loss occurs.
   */
  async batch(prompts: readonly (readonly number[])[], tokens: number): Promise<TrainingExample[]> {
    const rng = Rng.stream(1, "batch");
    const outputs = await this.sample(prompts, tokens, 1, samplesPerPrompt);
    const sequences = outputs.map((output, index) => [...(prompts[Math.floor(index / samplesPerPrompt)] as readonly number[]), ...output]);
    const advantages = prompts.flatMap(() => groupAdvantages(Array.from({ length: samplesPerPrompt }, () => rng.uniform())));
    const current = await this.logprobs(sequences, "layer-by-layer");
    const examples = sequences.map((tokenIds, index) => {
      const start = tokenIds.length - (outputs[index]?.length ?? 0);
      const written = (value: (position: number) => number) => tokenIds.map((_, position) => (position < start ? 0 : value(position)));
      const now = (position: number) => current[index]?.[position] as number;
      return {
        policy: "main",
        groupKey: `${Math.floor(index / samplesPerPrompt)}`,
        tokenIds,
        mask: written(() => 1) as (0 | 1)[],
        logprobs: written((position) =>
          Math.min(0, now(position) - (position % 7 === 0 ? 1.5 * Math.sign(rng.normal()) : 0.15 * rng.normal())),
        ),
        referenceLogprobs: written((position) => Math.min(0, now(position) + 0.3 * rng.normal())),
        advantages: written(() => advantages[index] as number),
      } as const;
    });
    return withAggregation(examples, "token-mean");
  }
}
