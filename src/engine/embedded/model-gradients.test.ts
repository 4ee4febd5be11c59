import { describe, expect, it } from "vitest";
import { tinyShape } from "../../../test/fixtures/engine/tiny-shape.ts";
import { Rng } from "../../rng.ts";
import type { Loss, TokenGrammar, TrainingExample } from "../engine.ts";
import type { ModelShape } from "./architecture.ts";
import { GrammarCursor } from "./grammar-replay.ts";
import { Parameters } from "./parameters.ts";
import { EmbeddedTrainer, type TrainerOptions } from "./trainer.ts";

const llama: ModelShape = { ...tinyShape, vocabularySize: 50, maxPositions: 64, tiedHead: false };
const qwen2: ModelShape = { ...llama, architecture: "qwen2", keyValueHeads: 4, qkvBias: true, tiedHead: true };
const models = { "Llama, grouped queries, untied": llama, "Qwen2, biases, tied": qwen2 };

/** Reserved 40..49; text, then a 40, then two different ones of 41..43, then 44. */
const grammar: TokenGrammar = {
  id: "test",
  start: 0,
  reservedTokenIds: Array.from({ length: 10 }, (_, index) => 40 + index),
  states: [
    { onText: 0, onToken: [[40, 1]] },
    {
      onToken: [
        [41, 2],
        [42, 2],
        [43, 2],
      ],
      distinct: true,
    },
    {
      onToken: [
        [41, 3],
        [42, 3],
        [43, 3],
      ],
      distinct: true,
    },
    { onToken: [[44, 0]] },
  ],
};

function randomParameters(shape: ModelShape): Parameters {
  const parameters = new Parameters(shape);
  parameters.initialise(1, 0.25);
  const rng = new Rng(2);
  for (let index = 0; index < parameters.weights.length; index++) (parameters.weights[index] as number) += 0.05 * rng.normal();
  return parameters;
}

/** Four prompts with three outputs each, of different lengths; every third example has two turns. */
function examples(options: { grammar?: boolean } = {}): TrainingExample[] {
  const rng = new Rng(9);
  const prompts = [9, 14, 5, 1].map((length) => Array.from({ length }, () => rng.integer(40)));
  return prompts.flatMap((prompt, promptIndex) =>
    [0, 1, 2].map((index) => {
      const output = options.grammar
        ? [rng.integer(40), 40, 41 + index, 41 + ((index + 1) % 3), 44]
        : Array.from({ length: 2 + promptIndex + index }, () => rng.integer(50));
      const observation = index === 2 ? [3, 1, 4] : [];
      const tokenIds = [...prompt, ...output, ...observation, ...(index === 2 ? output.slice(0, 2) : [])];
      const mask = tokenIds.map(
        (_, position) =>
          (position < prompt.length ||
          (position >= prompt.length + output.length && position < prompt.length + output.length + observation.length)
            ? 0
            : 1) as 0 | 1,
      );
      const draw = (scale: number, shift = 0) => tokenIds.map(() => shift + scale * rng.normal());
      return {
        policy: "main",
        groupKey: "",
        tokenIds,
        mask,
        logprobs: draw(0.2, -3.5),
        referenceLogprobs: draw(0.2, -3.5),
        advantages: draw(1),
        weights: tokenIds.map(() => 0.1 + 0.2 * rng.uniform()),
        ...(options.grammar && { grammar }),
      };
    }),
  );
}

const surrogate: Loss = {
  kind: "clipped-surrogate",
  clipLow: 0.2,
  clipHigh: 0.2,
  dualClip: 3,
  klCoefficient: 0.1,
  entropyCoefficient: 0.05,
};
const smooth: Loss = { ...surrogate, clipLow: 1, clipHigh: 1e8, dualClip: undefined };
const defaults: TrainerOptions = { threads: 1, microBatchTokens: 4096, execution: "whole-graph" };

async function gradientOf(parameters: Parameters, batch: TrainingExample[], loss: Loss, options: Partial<TrainerOptions> = {}) {
  const trainer = new EmbeddedTrainer(parameters.shape, parameters, { ...defaults, ...options });
  parameters.gradients.fill(0);
  const result = await trainer.forwardBackward(batch, loss);
  await trainer.close();
  return { result, gradient: parameters.gradients.slice() };
}

/** The largest difference of two gradients, relative to the largest entry of each tensor. */
function gradientDifference(parameters: Parameters, a: Float32Array, b: Float32Array): number {
  let worst = 0;
  for (const { offset, length } of parameters.spans) {
    let scale = 1e-9;
    let difference = 0;
    for (let index = offset; index < offset + length; index++) {
      scale = Math.max(scale, Math.abs(a[index] as number));
      difference = Math.max(difference, Math.abs((a[index] as number) - (b[index] as number)));
    }
    worst = Math.max(worst, difference / scale);
  }
  return worst;
}

describe.each(Object.entries(models))("%s", (_name, shape) => {
  const parameters = randomParameters(shape);

  it.each([
    ["cross-entropy", { kind: "cross-entropy" } as Loss, {}],
    ["clipped surrogate", smooth, {}],
    ["clipped surrogate under a grammar", smooth, { grammar: true }],
  ])("the gradient of %s agrees with finite differences", async (_kind, loss, kind) => {
    const batch = examples(kind);
    const trainer = new EmbeddedTrainer(shape, parameters, defaults);
    const { gradient } = await gradientOf(parameters, batch, loss);
    const rng = new Rng(4);
    for (const spec of parameters.specs) {
      const weights = parameters.view(spec.name);
      const start = (weights.byteOffset - parameters.weights.byteOffset) / 4;
      const own = gradient.subarray(start, start + weights.length);
      const norm = Math.hypot(...own);
      // Along the gradient and some noise, so that every entry takes part and the slope is well above rounding.
      const direction = Float32Array.from(own, (value) => value / norm + rng.normal() / Math.sqrt(own.length));
      const slope = own.reduce((sum, value, index) => sum + value * (direction[index] as number), 0);
      const original = weights.slice();
      const at = async (step: number) => {
        weights.set(original.map((value, index) => value + step * (direction[index] as number)));
        const { loss: value } = await trainer.forwardBackward(batch, loss);
        weights.set(original);
        return value;
      };
      const difference = ((await at(2e-3)) - (await at(-2e-3))) / 4e-3;
      expect(Math.abs(difference - slope) / Math.abs(slope), spec.name).toBeLessThan(5e-3);
    }
    await trainer.close();
  });

  it.each([{ grammar: false }, { grammar: true }])("whole graph and layer by layer agree: %j", async (kind) => {
    const whole = await gradientOf(parameters, examples(kind), surrogate);
    const layered = await gradientOf(parameters, examples(kind), surrogate, { execution: "layer-by-layer" });
    expect(layered.result.loss).toBeCloseTo(whole.result.loss, 5);
    expect(gradientDifference(parameters, whole.gradient, layered.gradient)).toBeLessThan(1e-5);
  });

  it.each([{ grammar: false }, { grammar: true }])("shared prompts give the gradients of separate ones: %j", async (kind) => {
    const shared = await gradientOf(parameters, examples(kind), surrogate);
    const separate = await gradientOf(parameters, examples(kind), surrogate, { sharePrompts: false });
    shared.result.logprobs.flat().forEach((logprob, index) => {
      expect(Math.abs(logprob - (separate.result.logprobs.flat()[index] as number))).toBeLessThan(1e-5);
    });
    expect(gradientDifference(parameters, shared.gradient, separate.gradient)).toBeLessThan(1e-5);
  });

  it("outputs that would not fit one row with their prompt go into several", async () => {
    const prompt = Array.from({ length: 50 }, (_, index) => index % 40);
    const outputs = [0, 1, 2, 3, 4, 5].map((index) => ({
      ...(examples()[0] as TrainingExample),
      tokenIds: [...prompt, ...Array.from({ length: 13 }, () => 3 + index)],
    }));
    const batch = outputs.map((example) => {
      const mask = example.tokenIds.map((_, position): 0 | 1 => (position < prompt.length ? 0 : 1));
      const per = (value: number) => example.tokenIds.map(() => value);
      return {
        ...example,
        mask,
        weights: mask.map((trained) => trained * 0.1),
        logprobs: per(-3),
        advantages: per(1),
        referenceLogprobs: per(-3),
        targets: per(-1),
      };
    });
    const shared = await gradientOf(parameters, batch, surrogate, { microBatchTokens: 1024 });
    const separate = await gradientOf(parameters, batch, surrogate, { sharePrompts: false });
    expect(gradientDifference(parameters, shared.gradient, separate.gradient)).toBeLessThan(1e-5);
  });

  it("small micro-batches and two threads give the gradients of one large micro-batch", async () => {
    const large = await gradientOf(parameters, examples(), surrogate);
    const small = await gradientOf(parameters, examples(), surrogate, { microBatchTokens: 24, threads: 2 });
    expect(gradientDifference(parameters, large.gradient, small.gradient)).toBeLessThan(1e-5);
    expect(small.result.tokens).toBe(large.result.tokens);
  });

  it("scores under a grammar are renormalised over the allowed tokens", async () => {
    const [example] = examples({ grammar: true }) as [TrainingExample];
    const trainer = new EmbeddedTrainer(shape, parameters, defaults);
    const [masked] = await trainer.logprobs([example]);
    // Each allowed continuation of the same prefix, scored under the grammar: the probabilities add up to 1.
    const position = example.mask.indexOf(1) + 2;
    const cursor = new GrammarCursor(grammar);
    for (const token of example.tokenIds.slice(position - 2, position)) cursor.advance(token);
    const allowed = Array.from({ length: shape.vocabularySize }, (_, token) => token).filter((token) => cursor.allows(token));
    const variants = allowed.map((token) => ({
      ...example,
      tokenIds: [...example.tokenIds.slice(0, position), token],
      mask: example.mask.slice(0, position + 1),
    }));
    const scores = await trainer.logprobs(variants);
    expect(allowed).toEqual([41, 42, 43]);
    expect(scores.reduce((sum, list) => sum + Math.exp(list[position] as number), 0)).toBeCloseTo(1, 5);
    expect(scores[allowed.indexOf(example.tokenIds[position] as number)]?.[position]).toBeCloseTo(masked?.[position] as number, 5);
    await trainer.close();
  });
});
