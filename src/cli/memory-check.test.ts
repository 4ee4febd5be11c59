import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { loadConfig } from "./load-config.ts";
import { checkMemory, memorySettings, planPolicies } from "./memory-check.ts";

const file = fileURLToPath(new URL("../../configs/atlas.yaml", import.meta.url));
const gibibyte = 2 ** 30;

describe("the models' memory", () => {
  it("is planned for every policy, the frozen ones without an optimiser", async () => {
    const plans = await planPolicies(loadConfig({ file }), "training");
    expect(plans.map(({ policy }) => policy)).toEqual(["agent", "ranker"]);
    for (const { plan } of plans) expect(plan.optimiser).toBe(3 * plan.weights);
    expect(memorySettings(plans)[0]).toEqual([
      "agent memory",
      expect.stringMatching(/^at most about \d+ MiB \(weights 4\.\d MiB, optimiser 13 MiB, .*whole-graph$/),
    ]);
    const answering = await planPolicies(loadConfig({ file }), "answering");
    for (const { plan } of answering) expect([plan.optimiser, plan.activations]).toEqual([0, 0]);
    const fixed = await planPolicies(loadConfig({ file, set: ["system=fixed-ranker"] }), "training");
    expect(fixed.map(({ plan }) => plan.optimiser > 0)).toEqual([true, false]);
  });

  it("counts the frozen model of a divergence, and shared weights once", async () => {
    const divergence = await planPolicies(loadConfig({ file, set: ["grpo.klCoefficient=0.001"] }), "training");
    expect(divergence.map(({ policy, plan }) => [policy, plan.optimiser > 0])).toEqual([
      ["agent", true],
      ["agent", false],
      ["ranker", true],
      ["ranker", false],
    ]);
    const config = loadConfig({ file, set: ["agent.lora.rank=4", "ranker.lora.rank=4"] });
    const adapters = await planPolicies({ ...config, ranker: { ...config.ranker, model: config.agent.model } }, "training");
    const [agent, ranker] = adapters.map(({ plan }) => plan);
    expect(agent?.weights).toBeGreaterThan(10 * (ranker?.weights ?? 0));
  });

  it("is refused where it exceeds what is free, naming both and what helps", async () => {
    const config = loadConfig({ file, set: ["engine.microBatchTokens=65536"] });
    const plans = await planPolicies(config, "training");
    expect(() => checkMemory(plans, config, 1000 * gibibyte)).not.toThrow();
    expect(() => checkMemory(plans, config, gibibyte)).toThrow(
      /^the models need about .* GiB of memory, 1\.0 GiB are free:\n {2}agent: at most .*\n {2}ranker: .*\nlower engine.microBatchTokens.*engine.checkMemory=false$/s,
    );
  });
});
