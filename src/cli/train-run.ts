import type { Config } from "../config.ts";
import { duration, score } from "../evaluation/report/scale.ts";
import type { StepMetrics } from "../training/metrics.ts";
import { type TrainProgress, type TrainResult, train } from "../training/trainer.ts";
import type { Wiring } from "../training/wiring.ts";
import { Interrupted } from "./interrupt.ts";

/** A run, its wiring, and who hears of it. */
export interface TrainRunOptions {
  readonly config: Config;
  readonly runFolder: string;
  readonly wiring: Wiring;
  readonly resume: boolean;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: TrainProgress) => void;
}

/** Trains; a run that Ctrl-C stopped is saved and then told as `Interrupted`, with how to go on. */
export async function trainRun(options: TrainRunOptions): Promise<TrainResult> {
  const result = await train(options);
  if (result.status === "interrupted") {
    throw new Interrupted(
      `interrupted after step ${result.step} of ${options.config.training.steps}; the run is saved: go on with  cosearch train --resume --run ${options.runFolder}`,
    );
  }
  return result;
}

/** A step's state in a few words. */
export function stepWords(metrics: StepMetrics): string {
  const part = (name: string, value: number | undefined, digits = 2) => (value === undefined ? [] : [`${name} ${score(value, digits)}`]);
  return [
    ...part("reward", metrics.mainReward),
    ...part("Hit@1", metrics.hit1),
    ...(metrics.searches === undefined ? [] : [`searches ${metrics.searches.toFixed(1)}`]),
    ...part("ranker", metrics.rankerReward),
  ].join("  ");
}

/** What is worth a line of its own. */
export function progressLine(progress: TrainProgress): string | undefined {
  if (progress.kind === "evaluation")
    return `dev after step ${progress.step}: F1 ${score(progress.dev.f1)} on ${progress.dev.questions} questions`;
  if (progress.kind === "started" && progress.step > 0) return `goes on after step ${progress.step}`;
  return undefined;
}

/** Tells once, of the first step in which most trajectories ran out of room, which settings give them more. */
export function roomAdvice({ agent, ranker, retrieval }: Config): (metrics: StepMetrics) => string | undefined {
  let told = false;
  return ({ step, truncated, trajectories }) => {
    if (told || truncated * 2 <= trajectories) return undefined;
    told = true;
    return (
      `step ${step}: ${truncated} of ${trajectories} trajectories ran out of room before they answered: ` +
      `raise agent.maxResponseTokens (${agent.maxResponseTokens}; agent.maxTurnTokens, ${agent.maxTurnTokens}, where single turns are cut), ` +
      `or lower agent.observationCharacters (${agent.observationCharacters}), ranker.topK (${ranker.topK}) ` +
      `or, for folders of texts, retrieval.passageWords (${retrieval.passageWords})`
    );
  };
}

/** `, took 3 min 5 s` */
export function took(started: number): string {
  return `took ${duration((performance.now() - started) / 1000)}`;
}
