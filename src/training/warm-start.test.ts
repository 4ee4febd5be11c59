import { describe, expect, it } from "vitest";
import { ScriptedEngine } from "../../test/fixtures/training/scripted-engine.ts";
import { tinyRenderer } from "../../test/fixtures/training/tiny-world.ts";
import { type Demonstration, demonstrationExamples, type WarmStartReport, warmStart, warmStartRate } from "./warm-start.ts";

const demonstrations: Demonstration[] = [
  { tokenIds: [1, 2, 3, 4], weights: [0.2, 0.2, 1, 2] },
  { tokenIds: [1, 5, 6], weights: [0, 0, 1], targets: [-1, 7, -1] },
];

describe("demonstrationExamples", () => {
  const examples = demonstrationExamples("main", demonstrations);

  it("normalises the weights over the batch; a first token, which nothing predicts, has none", () => {
    const weights = examples.flatMap((example) => example.weights);
    expect(weights.reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 12);
    expect(examples.map((example) => example.weights[0])).toEqual([0, 0]);
    expect((examples[0]?.weights[3] as number) / (examples[1]?.weights[2] as number)).toBeCloseTo(2, 12);
  });

  it("trains on the weighted positions alone and hands other targets on", () => {
    expect(examples.map(({ mask }) => mask)).toEqual([
      [0, 1, 1, 1],
      [0, 0, 1],
    ]);
    expect(examples.map(({ targets }) => targets)).toEqual([undefined, [-1, 7, -1]]);
  });
});

describe("warmStartRate", () => {
  const schedule = { steps: 100, learningRate: 2, warmupSteps: 10, constantFraction: 0.6 };

  it("rises to the peak, stays, and falls to a tenth", () => {
    const rates = Array.from({ length: 100 }, (_, step) => warmStartRate(step, schedule));
    expect(rates[0]).toBeCloseTo(0.2, 12);
    expect(rates.slice(9, 60)).toEqual(Array.from({ length: 51 }, () => 2));
    expect(rates[79]).toBeCloseTo(1, 12);
    expect(rates[99]).toBeCloseTo(0.2, 12);
  });
});

describe("warmStart", () => {
  async function run(onStep?: (report: WarmStartReport) => Promise<"go on" | "stop">, signal?: AbortSignal) {
    const engine = new ScriptedEngine(tinyRenderer(), () => "");
    const asked: number[] = [];
    await warmStart({
      engine,
      policy: "ranker",
      steps: 5,
      batch: async (step) => {
        asked.push(step);
        return demonstrations;
      },
      learningRate: 1,
      warmupSteps: 1,
      constantFraction: 1,
      onStep,
      signal,
    });
    return { engine, asked };
  }

  it("makes one optimiser step a batch, reports each, and publishes at the end", async () => {
    const reports: WarmStartReport[] = [];
    const { engine, asked } = await run(async (report) => {
      reports.push(report);
      return "go on";
    });
    expect(asked).toEqual([0, 1, 2, 3, 4]);
    expect(reports.map(({ step, tokens }) => [step, tokens])).toEqual([1, 2, 3, 4, 5].map((step) => [step, 7]));
    expect(engine.updates.every(({ loss }) => loss.kind === "cross-entropy")).toBe(true);
    expect(engine.learningRates).toEqual([1, 1, 1, 1, 1]);
    expect(await engine.publish()).toBe(2);
  });

  it("ends where the caller says stop, and publishes all the same", async () => {
    const { engine } = await run(async ({ step }) => (step === 2 ? "stop" : "go on"));
    expect(engine.learningRates.length).toBe(2);
    expect(await engine.publish()).toBe(2);
  });

  it("makes no step once it is aborted", async () => {
    const { engine } = await run(undefined, AbortSignal.abort());
    expect(engine.updates).toEqual([]);
  });
});
