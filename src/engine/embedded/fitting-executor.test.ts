import { describe, expect, it } from "vitest";
import { Rng } from "../../rng.ts";
import type { ModelShape } from "./architecture.ts";
import { FittingExecutor } from "./fitting-executor.ts";
import { GrammarRows } from "./grammar-replay.ts";
import { termColumns } from "./head-loss.ts";
import { chosenExecution, fitsWholeGraph, planMemory } from "./memory-plan.ts";
import { microBatch } from "./micro-batch.ts";
import { planBatches, planSequence } from "./pack-plan.ts";
import { Parameters } from "./parameters.ts";
import { rotaryTables } from "./runtime.ts";
import { TrainedModel } from "./trained-model.ts";

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
  maxPositions: 64,
  qkvBias: false,
  queryKeyNorm: false,
  tiedHead: true,
};
/** SmolLM2-135M's. */
const large: ModelShape = {
  ...shape,
  vocabularySize: 49152,
  hiddenSize: 576,
  layers: 30,
  heads: 9,
  keyValueHeads: 3,
  headSize: 64,
  intermediateSize: 1536,
  maxPositions: 8192,
};

/** Gradients of cross-entropy over one sequence, with this much room for activations. */
async function gradients(length: number, limitBytes: number): Promise<Float32Array> {
  const parameters = new Parameters(shape);
  parameters.initialise(1, 0.1);
  const executor = new FittingExecutor(new TrainedModel(parameters, undefined), rotaryTables(shape), 1, limitBytes);
  const rng = new Rng(2);
  const tokenIds = Array.from({ length }, () => rng.integer(shape.vocabularySize));
  const sequence = { tokenIds, mask: tokenIds.map((_, position): 0 | 1 => (position === 0 ? 0 : 1)) };
  const plans = planBatches([planSequence(0, sequence.mask) as NonNullable<ReturnType<typeof planSequence>>], () => tokenIds, {
    maxTokens: 64,
    maxRow: 64,
    pack: true,
  });
  const batch = microBatch(plans[0] as (typeof plans)[number], [sequence], shape.vocabularySize, new GrammarRows(shape.vocabularySize));
  const terms = new Float32Array(batch.rows.length * termColumns.length);
  for (let row = 0; row < batch.rows.length; row++) terms[row * termColumns.length + termColumns.indexOf("likelihoodWeight")] = 1;
  await executor.train(batch, terms, false);
  await executor.release();
  return parameters.gradients.slice();
}

describe("a micro-batch", () => {
  it("has the same gradients as one graph and layer by layer, whichever fits", async () => {
    const [asOne, layered] = await Promise.all([gradients(40, 2 ** 30), gradients(40, 1)]);
    expect(asOne.some((value) => value !== 0)).toBe(true);
    const most = asOne.reduce((largest, value, index) => Math.max(largest, Math.abs(value - (layered?.[index] as number))), 0);
    expect(most).toBeLessThan(1e-4);
  });

  it("goes layer by layer where its rows are long", () => {
    expect(chosenExecution(shape, "auto")).toBe("whole-graph");
    expect(chosenExecution(large, "auto")).toBe("fitting");
    expect(chosenExecution(large, "layer-by-layer")).toBe("layer-by-layer");
    expect(fitsWholeGraph(large, undefined, 1024, 256)).toBe(true);
    expect(fitsWholeGraph(large, undefined, 1024, 1024)).toBe(false);
    expect(fitsWholeGraph(large, undefined, 4096, 256)).toBe(false);
  });
});

describe("the memory plan", () => {
  it("counts what the larger of both ways takes", () => {
    const asked = { shape: large, trainable: true, sampledSequences: 4, prefixCacheMegabytes: 0, microBatchTokens: 1024 };
    const short = planMemory({ ...asked, execution: "auto", longestSequence: 256 });
    const long = planMemory({ ...asked, execution: "auto", longestSequence: 4096 });
    expect([short.execution, long.execution]).toEqual(["whole-graph", "layer-by-layer"]);
    const asOne = { ...asked, execution: "whole-graph", longestSequence: 256 } as const;
    expect(short.activations).toBe(planMemory({ ...asOne, microBatchTokens: 512 }).activations);
    expect(short.activations).toBeLessThan(planMemory(asOne).activations);
    expect(long.activations).toBeGreaterThanOrEqual(3 * 2 ** 30);
    expect(long.activations).toBeGreaterThanOrEqual(
      planMemory({ ...asked, execution: "layer-by-layer", longestSequence: 4096 }).activations,
    );
  });
});
