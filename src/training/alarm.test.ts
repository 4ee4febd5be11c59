import { describe, expect, it } from "vitest";
import { type Config, configSchema } from "../config.ts";
import { checkAlarm } from "./alarm.ts";
import type { StepMetrics } from "./metrics.ts";

const alarm: Config["alarm"] = {
  ...configSchema.parse({ system: "oracle", data: { train: "a", test: "d" }, retrieval: { corpus: "b" }, agent: { model: "c" } }).alarm,
  window: 3,
  minEntropy: 0.01,
};
const healthy = {
  mainReward: 0.5,
  mainFormatValidity: 1,
  rankerFormatValidity: 1,
  mainKl: 0.1,
  rankerKl: 0.1,
  mainEntropy: 0.5,
  rankerEntropy: 0.5,
};
const history = (...changes: Partial<StepMetrics>[]) =>
  changes.map((change, index) => ({ step: index + 1, ...healthy, ...change }) as StepMetrics);

describe("checkAlarm", () => {
  it("is silent in a healthy run, whatever is not measured", () => {
    expect(checkAlarm(history({}, {}, {}, {}), alarm)).toBeUndefined();
    expect(
      checkAlarm(history({}, {}, { rankerFormatValidity: undefined, rankerKl: undefined, rankerEntropy: undefined }), alarm),
    ).toBeUndefined();
  });

  it.each([
    ["mainFormatValidity", 0.2],
    ["rankerFormatValidity", 0.2],
    ["mainKl", 40],
    ["rankerKl", 40],
    ["mainEntropy", 0.001],
    ["rankerEntropy", 0.001],
  ] as const)("names %s when its moving average crosses the threshold", (metric, value) => {
    const bad = { [metric]: value };
    const found = checkAlarm(history({}, bad, bad, bad), alarm);
    expect(found).toMatchObject({ metric, value: expect.closeTo(value, 9) });
    expect(checkAlarm(history({}, bad, {}, {}), { ...alarm, maxKl: 20, minEntropy: 0.001 })).toBeUndefined();
  });

  it("compares the reward with its best moving average", () => {
    const low = { mainReward: 0.15 };
    expect(checkAlarm(history({}, {}, {}, low, low, low), alarm)).toMatchObject({
      metric: "mainReward",
      value: expect.closeTo(0.15, 9),
      threshold: expect.closeTo(0.2, 9),
    });
    expect(checkAlarm(history(low, low, low, low), alarm)).toBeUndefined();
  });

  it("waits for a whole window, but never for a number that is none", () => {
    const bad = { mainFormatValidity: 0 };
    expect(checkAlarm(history(bad, bad), alarm)).toBeUndefined();
    expect(checkAlarm(history({}, { mainGradientNorm: Number.NaN }), alarm)).toMatchObject({ metric: "mainGradientNorm" });
    expect(checkAlarm(history({ mainLoss: Number.POSITIVE_INFINITY }), { ...alarm, enabled: false })).toMatchObject({ metric: "mainLoss" });
  });

  it("can be switched off", () => {
    const bad = { mainFormatValidity: 0 };
    expect(checkAlarm(history(bad, bad, bad), { ...alarm, enabled: false })).toBeUndefined();
  });
});
