import { describe, expect, it } from "vitest";
import { GraphBuilder } from "../../onnx/onnx-model.ts";
import { createSession, floatTensor } from "../../onnx/session.ts";
import { Rng } from "../../rng.ts";
import type { SampledTokens } from "../../types.ts";
import { loraTargets } from "../engine.ts";
import type { ModelShape } from "./architecture.ts";
import { Decoder } from "./decoder.ts";
import { EmbeddedEngineCore, type EmbeddedEngineOptions } from "./engine-core.ts";
import { int8Product, toInt8 } from "./int8-weights.ts";
import { planMemory } from "./memory-plan.ts";
import { Parameters } from "./parameters.ts";

const shape: ModelShape = {
  architecture: "qwen2",
  vocabularySize: 60,
  hiddenSize: 48,
  layers: 2,
  heads: 4,
  keyValueHeads: 2,
  headSize: 12,
  intermediateSize: 72,
  rmsNormEps: 1e-5,
  ropeTheta: 10000,
  maxPositions: 64,
  qkvBias: true,
  queryKeyNorm: false,
  tiedHead: true,
};
const options: EmbeddedEngineOptions = { shape, seed: 5, initialDeviation: 0.3, samplingWeights: "int8" };
const lora = { rank: 4, alpha: 8, targets: [...loraTargets] };
const request = { promptTokenIds: [3, 4, 5, 6], samples: 3, maxTokens: 12, seed: 11 };

const random = (count: number, seed: number) => {
  const rng = new Rng(seed);
  return Float32Array.from({ length: count }, () => rng.uniform() * 2 - 1);
};

async function sampled(
  core: EmbeddedEngineCore,
  change: Partial<typeof request> & { temperature?: number } = {},
): Promise<SampledTokens[]> {
  const [outputs] = await core.sample([{ ...request, ...change }]);
  if (!Array.isArray(outputs)) throw outputs;
  return outputs;
}

describe("a matrix in bytes", () => {
  it("multiplies like the one it stands for, whatever its width", async () => {
    for (const [rows, columns] of [
      [40, 64],
      [33, 50],
    ] as const) {
      const weights = random(rows * columns, 1);
      const matrix = toInt8(weights, rows, columns);
      const graph = new GraphBuilder();
      graph.node("Identity", [int8Product(graph, graph.input("x", "float", ["N", columns]), "w", matrix)], ["y"]);
      graph.output("y", "float", ["N", rows]);
      const session = await createSession(graph.build(), 1);
      const x = random(3 * columns, 2);
      const y = (await session.run({ x: floatTensor(x, [3, columns]) }))["y"]?.data as Float32Array;
      await session.release();
      for (let token = 0; token < 3; token++) {
        for (let row = 0; row < rows; row++) {
          let expected = 0;
          for (let column = 0; column < columns; column++) {
            expected += (weights[row * columns + column] as number) * (x[token * columns + column] as number);
          }
          expect(Math.abs((y[token * rows + row] as number) - expected)).toBeLessThan(0.08);
        }
      }
    }
  });

  it("keeps zeros, and each number within half a step of its block", () => {
    const weights = random(64, 3).map((value, index) => (index < 32 ? 0 : value));
    const { bytes, scales } = toInt8(weights, 1, 64);
    expect([...bytes.subarray(0, 32)]).toEqual(new Array(32).fill(128));
    weights.forEach((value, index) => {
      const scale = scales[Math.floor(index / 32)] as number;
      expect(Math.abs(scale * ((bytes[index] as number) - 128) - value)).toBeLessThanOrEqual(scale / 2 + 1e-6);
    });
  });
});

describe("sampling from bytes", () => {
  it("steps to nearly the probabilities of the weights themselves", async () => {
    const parameters = new Parameters(shape, { trainable: false });
    parameters.initialise(5, 0.3);
    const step = async (samplingWeights: "f32" | "int8") => {
      const decoder = await Decoder.create(parameters, { threads: 1, samplingWeights });
      for (let row = 0; row < 2; row++) decoder.cache.addRow();
      decoder.cache.reserve(2, 8);
      await decoder.extend(
        0,
        [
          [3, 4, 5],
          [6, 7],
        ],
        Float32Array.of(1, 1),
      );
      const probabilities = (await decoder.step([8, 9], Float32Array.of(1, 1))).slice();
      await decoder.release();
      return probabilities;
    };
    const [exact, rounded] = [await step("f32"), await step("int8")];
    const distance = exact.reduce((sum, value, index) => sum + Math.abs(value - (rounded[index] as number)), 0) / 2;
    expect(distance).toBeGreaterThan(0);
    expect(distance).toBeLessThan(0.1);
  });

  it("reports the log-probabilities of what is trained", async () => {
    const core = await EmbeddedEngineCore.create({ ...options, lora, adapterSeed: 2 });
    const outputs = await sampled(core);
    const sequences = outputs.map(({ tokenIds }) => ({
      tokenIds: [...request.promptTokenIds, ...tokenIds],
      mask: [...request.promptTokenIds.map((): 0 => 0), ...tokenIds.map((): 1 => 1)],
    }));
    const scored = await core.logprobs(sequences);
    expect(outputs.map(({ logprobs }) => logprobs)).toEqual(scored.map((list) => list.slice(request.promptTokenIds.length)));
    expect(await sampled(core)).toEqual(outputs);
    await core.close();
  });

  it("goes with policies beside, and not with weights that are trained", async () => {
    const core = await EmbeddedEngineCore.create({ ...options, trainable: false });
    const beside = await core.beside({ lora, trainable: true });
    expect((await sampled(beside, { temperature: 0 })).map(({ tokenIds }) => tokenIds.length)).toEqual([12, 12, 12]);
    await beside.close();
    await core.close();
    await expect(EmbeddedEngineCore.create(options)).rejects.toThrow(/engine\.samplingWeights: int8 needs frozen weights: train adapters/);
  });

  it("is counted in the memory plan", () => {
    const asked = {
      shape,
      lora,
      trainable: true,
      execution: "auto",
      microBatchTokens: 64,
      longestSequence: 64,
      sampledSequences: 1,
      prefixCacheMegabytes: 0,
    } as const;
    const more = planMemory({ ...asked, samplingWeights: "int8" }).weights - planMemory(asked).weights;
    expect(more).toBeGreaterThan(0);
  });
});
