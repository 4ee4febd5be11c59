import { describe, expect, it } from "vitest";
import { Rng } from "../../rng.ts";
import type { Loss, TrainingExample } from "../engine.ts";
import type { ModelShape } from "./architecture.ts";
import { Parameters } from "./parameters.ts";
import { EmbeddedTrainer } from "./trainer.ts";

const shape: ModelShape = {
  architecture: "llama",
  vocabularySize: 40,
  hiddenSize: 32,
  layers: 2,
  heads: 2,
  keyValueHeads: 1,
  headSize: 16,
  intermediateSize: 64,
  rmsNormEps: 1e-5,
  ropeTheta: 10000,
  maxPositions: 32,
  qkvBias: false,
  queryKeyNorm: false,
  tiedHead: true,
};
const optimiser = { learningRate: 3e-3, beta1: 0.9, beta2: 0.98, eps: 1e-8, weightDecay: 0.01, maxGradNorm: 1 };
const surrogate: Loss = { kind: "clipped-surrogate", clipLow: 0.2, clipHigh: 0.2 };

function create(seed = 1): EmbeddedTrainer {
  const parameters = new Parameters(shape);
  parameters.initialise(seed, 0.1);
  return new EmbeddedTrainer(shape, parameters, { threads: 1, microBatchTokens: 256, execution: "auto" });
}

function example(seed: number, change: Partial<TrainingExample> = {}): TrainingExample {
  const rng = new Rng(seed);
  const tokenIds = Array.from({ length: 6 + rng.integer(12) }, () => rng.integer(40));
  return {
    policy: "main",
    groupKey: "",
    tokenIds,
    mask: tokenIds.map((_, position) => (position < 3 ? 0 : 1)),
    logprobs: tokenIds.map(() => -3),
    advantages: tokenIds.map(() => 1),
    weights: tokenIds.map(() => 0.02),
    ...change,
  };
}

const batch = [1, 2, 3, 4, 5, 6].map((seed) => example(seed));

describe("EmbeddedTrainer", () => {
  it("learns a small batch by heart, to the same bits every time", async () => {
    const run = async () => {
      const trainer = create();
      const losses: number[] = [];
      for (let step = 0; step < 60; step++) {
        losses.push((await trainer.forwardBackward(batch, { kind: "cross-entropy" })).loss);
        trainer.optimStep(optimiser);
      }
      await trainer.close();
      return { losses, weights: trainer.parameters.weights };
    };
    const [first, second] = [await run(), await run()];
    expect(first.losses.at(-1)).toBeLessThan(0.1 * (first.losses[0] as number));
    expect(second.losses).toEqual(first.losses);
    expect(second.weights).toEqual(first.weights);
  });

  it("adds gradients of several calls up and clears them with a step", async () => {
    const trainer = create();
    await trainer.forwardBackward(batch, { kind: "cross-entropy" });
    const whole = trainer.parameters.gradients.slice();
    trainer.parameters.gradients.fill(0);
    await trainer.forwardBackward(batch.slice(0, 2), { kind: "cross-entropy" });
    await trainer.forwardBackward(batch.slice(2), { kind: "cross-entropy" });
    const difference = whole.reduce(
      (most, value, index) => Math.max(most, Math.abs(value - (trainer.parameters.gradients[index] as number))),
      0,
    );
    expect(difference).toBeLessThan(1e-5);
    expect(trainer.optimStep(optimiser).step).toBe(1);
    expect(trainer.parameters.gradients.every((value) => value === 0)).toBe(true);
    await trainer.close();
  });

  it("raises the probability of tokens with a positive advantage and lowers the others", async () => {
    const trainer = create();
    const signs = batch.map((one, index) => ({ ...one, advantages: one.advantages.map(() => (index % 2 === 0 ? 1 : -1)) }));
    const before = await trainer.logprobs(batch);
    const examples = signs.map((one, index) => ({ ...one, logprobs: before[index] as number[] }));
    const { loss, clipFraction } = await trainer.forwardBackward(examples, surrogate);
    expect(loss).toBeCloseTo(
      -examples.reduce(
        (sum, one) =>
          sum + one.mask.reduce<number>((total, trained, position) => total + trained * 0.02 * (one.advantages[position] as number), 0),
        0,
      ),
      4,
    );
    expect(clipFraction).toBe(0);
    trainer.optimStep(optimiser);
    const after = await trainer.logprobs(batch);
    const change = (index: number) =>
      (after[index] as number[]).reduce((sum, value, position) => sum + value - (before[index]?.[position] as number), 0);
    expect(change(0) + change(2) + change(4)).toBeGreaterThan(0);
    expect(change(1) + change(3) + change(5)).toBeLessThan(0);
    await trainer.close();
  });

  it("refuses a learning rate that would turn every weight into NaN", async () => {
    const trainer = create();
    await trainer.forwardBackward(batch, { kind: "cross-entropy" });
    const before = trainer.parameters.weights.slice();
    expect(() => trainer.optimStep({ ...optimiser, learningRate: Number.NaN })).toThrow(/learningRate is NaN/);
    expect(trainer.parameters.weights).toEqual(before);
    await trainer.close();
  });

  it("adds exactly nothing for tokens of weight 0, whatever their numbers", async () => {
    const trainer = create();
    const [one] = batch as [TrainingExample];
    const weights = one.weights.map((weight, position) => (position % 2 === 0 ? 0 : weight));
    const clean = { ...one, weights };
    const poison = <Value>(list: readonly Value[], value: Value) => list.map((entry, position) => (position % 2 === 0 ? value : entry));
    const dirty = { ...clean, logprobs: poison(one.logprobs, Number.NEGATIVE_INFINITY), advantages: poison(one.advantages, Number.NaN) };
    const first = await trainer.forwardBackward([clean], surrogate);
    const gradient = trainer.parameters.gradients.slice();
    trainer.parameters.gradients.fill(0);
    const second = await trainer.forwardBackward([dirty], surrogate);
    expect(second).toEqual(first);
    expect(trainer.parameters.gradients).toEqual(gradient);
    expect(first.tokens).toBe(one.mask.filter((trained, position) => trained === 1 && position % 2 === 1).length);
    await trainer.close();
  });

  it("takes an empty list, and sequences in which nothing is trained", async () => {
    const trainer = create();
    expect((await trainer.forwardBackward([], surrogate)).loss).toBe(0);
    const untrained = example(1, { mask: (batch[0] as TrainingExample).tokenIds.map(() => 0 as const) });
    const result = await trainer.forwardBackward([untrained], surrogate);
    expect(result).toMatchObject({ loss: 0, tokens: 0, kl: 0, entropy: 0, clipFraction: 0 });
    expect(result.logprobs[0]).toEqual(untrained.tokenIds.map(() => 0));
    await trainer.close();
  });

  it("goes on from a restored state to the same bits", async () => {
    const trainer = create();
    const step = async (one: EmbeddedTrainer) => {
      await one.forwardBackward(batch, { kind: "cross-entropy" });
      return one.optimStep(optimiser);
    };
    await step(trainer);
    const { weights, firstMoments, secondMoments, step: steps } = trainer.state();
    const saved = { weights: weights.slice(), firstMoments: firstMoments.slice(), secondMoments: secondMoments.slice(), step: steps };
    await step(trainer);
    const other = create(2);
    other.restore(saved);
    expect((await step(other)).step).toBe(2);
    expect(other.parameters.weights).toEqual(trainer.parameters.weights);
    await trainer.close();
    await other.close();
  });

  it("keeps memory flat over hundreds of steps", async () => {
    const trainer = create();
    const steps = async (count: number) => {
      for (let step = 0; step < count; step++) {
        await trainer.forwardBackward(batch, { kind: "cross-entropy" });
        trainer.optimStep(optimiser);
      }
      return process.memoryUsage().rss;
    };
    const warm = await steps(200);
    const later = await steps(400);
    expect((later - warm) / 2 ** 20).toBeLessThan(60);
    await trainer.close();
  });

  it.each([
    [example(1, { weights: [1] }), "example 0: weights has 1 entries"],
    [example(1, { tokenIds: [1, 2, 41, 4], mask: [0, 0, 1, 1] }), "sequence 0: tokenIds[2] is 41, outside the vocabulary of 40"],
    [
      example(1, { tokenIds: Array.from({ length: 33 }, () => 1), mask: Array.from({ length: 33 }, () => 0 as const) }),
      "has 33 tokens, but the model has 32 positions",
    ],
    [{ ...example(1), mask: example(1).mask.map(() => 1 as const) }, "mask[0] is 1"],
    [{ ...example(1), advantages: example(1).advantages.map(() => Number.NaN) }, "example 0: advantages[3] is NaN"],
  ])("names what is wrong with an example (%#)", async (wrong, message) => {
    const trainer = create();
    await expect(trainer.forwardBackward([wrong], surrogate)).rejects.toThrow(message);
    await trainer.close();
  });

  it("asks for reference log-probabilities when the loss has a divergence", async () => {
    const trainer = create();
    await expect(trainer.forwardBackward(batch, { ...surrogate, klCoefficient: 0.1 })).rejects.toThrow(
      "example 0: referenceLogprobs are missing",
    );
    await trainer.close();
  });
});
