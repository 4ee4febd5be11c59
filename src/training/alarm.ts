/** Watches a run for collapse. Pure: what it needs of the past is in metrics.jsonl. */
import type { Config } from "../config.ts";
import type { StepMetrics } from "./metrics.ts";

/** Why a run should stop. */
export interface AlarmFinding {
  readonly metric: string;
  readonly value: number;
  /** Absent where the value is no number. */
  readonly threshold?: number;
  /** In words, e.g. "has fallen below". */
  readonly what: string;
}

type Measured = keyof Omit<StepMetrics, "timing">;

/**
 * Looks at moving averages over the last `window` steps (none before there are as many), and at once for numbers that are none: weights
 * never recover from those, so that this part can't be switched off.
 * @returns what crossed its threshold, or undefined.
 */
export function checkAlarm(history: readonly StepMetrics[], alarm: Config["alarm"]): AlarmFinding | undefined {
  const broken = Object.entries(history.at(-1) ?? {}).find(([, value]) => typeof value === "number" && !Number.isFinite(value));
  if (broken)
    return {
      metric: broken[0],
      value: broken[1] as number,
      what: "is not a finite number: the weights are broken; lower the learning rate",
    };
  if (!alarm.enabled || history.length < alarm.window) return undefined;
  const recent = (metric: Measured) => average(history.slice(-alarm.window), metric);
  for (const metric of ["mainFormatValidity", "rankerFormatValidity"] as const) {
    const value = recent(metric);
    if (value !== undefined && value < alarm.minFormatValidity) {
      return { metric, value, threshold: alarm.minFormatValidity, what: "has fallen below alarm.minFormatValidity" };
    }
  }
  const reward = recent("mainReward");
  const drop = (bestAverage(history, "mainReward", alarm.window) ?? 0) - (reward ?? 0);
  if (reward !== undefined && drop > alarm.maxRewardDrop) {
    return {
      metric: "mainReward",
      value: reward,
      threshold: reward + drop - alarm.maxRewardDrop,
      what: "has fallen by more than alarm.maxRewardDrop from its best, to below",
    };
  }
  for (const metric of ["mainKl", "rankerKl"] as const) {
    const value = recent(metric);
    if (value !== undefined && !(value <= alarm.maxKl))
      return { metric, value, threshold: alarm.maxKl, what: "has risen above alarm.maxKl" };
  }
  for (const metric of ["mainEntropy", "rankerEntropy"] as const) {
    const value = recent(metric);
    if (value !== undefined && value < alarm.minEntropy)
      return { metric, value, threshold: alarm.minEntropy, what: "has fallen below alarm.minEntropy" };
  }
  return undefined;
}

function bestAverage(history: readonly StepMetrics[], metric: Measured, window: number): number | undefined {
  const averages = history.slice(window - 1).flatMap((_, start) => average(history.slice(start, start + window), metric) ?? []);
  return averages.length === 0 ? undefined : Math.max(...averages);
}

/** Mean over the steps that measured the metric. */
function average(steps: readonly StepMetrics[], metric: Measured): number | undefined {
  const values = steps.flatMap((step) => step[metric] ?? []);
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length;
}
