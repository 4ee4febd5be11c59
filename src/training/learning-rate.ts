import type { Config } from "../config.ts";

type Schedule = Pick<Config["training"], "warmupFraction" | "schedule" | "finalLearningRateFraction">;

/**
 * The learning rate of an optimiser step, counted from 0, of `total`: a linear rise to the peak over the first `warmupFraction` of the
 * steps, then constant, or falling (linear or cosine) to `finalLearningRateFraction` of the peak at the last one.
 */
export function learningRate(peak: number, optimiserStep: number, total: number, schedule: Schedule): number {
  const warmupSteps = Math.ceil(schedule.warmupFraction * total);
  if (optimiserStep < warmupSteps) return (peak * (optimiserStep + 1)) / warmupSteps;
  const progress = Math.min(1, (optimiserStep - warmupSteps + 1) / Math.max(1, total - warmupSteps));
  const final = schedule.finalLearningRateFraction;
  switch (schedule.schedule) {
    case "constant":
      return peak;
    case "linear":
      return peak * (1 - (1 - final) * progress);
    case "cosine":
      return peak * (final + (1 - final) * 0.5 * (1 + Math.cos(Math.PI * progress)));
  }
}
