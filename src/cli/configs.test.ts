import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { loadConfig } from "./load-config.ts";

const folder = fileURLToPath(new URL("../../configs/", import.meta.url));
const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".yaml"));

describe("the configurations that come with the package", () => {
  test.each(files)("%s is valid", (name) => {
    expect(loadConfig({ file: `${folder}${name}` }).name.length).toBeGreaterThan(0);
  });

  test("the paper's setting is the defaults", () => {
    const config = loadConfig({ file: `${folder}paper-7b.yaml` });
    expect(config).toMatchObject({
      retrieval: { candidates: 50 },
      agent: { maxSearches: 6 },
      ranker: { topK: 5 },
      grouping: { similarityThreshold: 0.8, minGroupSize: 3 },
      grpo: { groupSize: 8, clipLow: 0.2, clipHigh: 0.2, dualClip: 3, klCoefficient: 0.001 },
      training: { steps: 100, questionsPerStep: 512, questionsPerMinibatch: 128 },
    });
  });
});
