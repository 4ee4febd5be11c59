/** One job of a study in a process of its own: train a system and evaluate it, or evaluate the warm start. Driven over IPC by study-lanes.ts. */
import type { Config } from "../config.ts";
import { AlarmError } from "../errors.ts";
import { listCheckpoints, selectedCheckpoint } from "../training/checkpoint.ts";
import { train } from "../training/trainer.ts";
import { evaluateRun } from "./evaluate-run.ts";
import { heldOut, writeEvaluation } from "./evaluation-files.ts";
import { endingOf } from "./exit.ts";
import { workController } from "./interrupt.ts";
import { progressLine, stepWords } from "./train-run.ts";
import { type OpenWiring, openWiring, publishCheckpoint } from "./wiring.ts";

/** One job of a study. */
export interface StudyJob {
  readonly kind: "train" | "warm-start";
  /** Shown in progress lines. */
  readonly name: string;
  readonly config: Config;
  readonly folder: string;
}

/** What a job's process tells the study. */
export type ChildMessage =
  /** `share` of the job that is done, 0..1. */
  | { readonly kind: "progress"; readonly share: number; readonly words: string; readonly milestone: boolean; readonly memoryBytes: number }
  | { readonly kind: "finished"; readonly memoryBytes: number; readonly alarm?: string }
  | { readonly kind: "interrupted"; readonly memoryBytes: number }
  | { readonly kind: "failed"; readonly memoryBytes: number; readonly code: number; readonly message: string };

/** What the study tells a job's process. */
export type ParentMessage = { readonly kind: "job"; readonly job: StudyJob } | { readonly kind: "stop" };

/** Evaluation takes about this share of a job's time. */
const evaluationShare = 0.1;
const controller = workController();

function tell(message: Omit<ChildMessage, "memoryBytes"> & Record<string, unknown>): void {
  process.send?.({ ...message, memoryBytes: process.resourceUsage().maxRSS * 1024 });
}

async function work({ kind, config, folder }: StudyJob): Promise<void> {
  const opened = await openWiring(config, kind === "train" ? "training" : "answering");
  try {
    const alarm = kind === "train" ? await trainSystem(config, folder, opened) : undefined;
    if (controller.signal.aborted) return tell({ kind: "interrupted" });
    const checkpoint = kind === "train" ? await selectedCheckpoint(folder) : undefined;
    await publishCheckpoint(config, opened.wiring, checkpoint);
    const trained = kind === "train" ? 1 - evaluationShare : 0;
    const records = await evaluateRun(config, opened.wiring, {
      signal: controller.signal,
      onProgress: (done, total) =>
        tell({
          kind: "progress",
          share: trained + ((1 - trained) * done) / total,
          words: `evaluated ${done}/${total}`,
          milestone: false,
        }),
    });
    const step = checkpoint?.manifest.step ?? 0;
    const header = { system: config.system, seed: config.seed, step, questions: records.length, ...(alarm === undefined ? {} : { alarm }) };
    await writeEvaluation(folder, heldOut, { header, records });
    tell({ kind: "finished", ...(alarm === undefined ? {} : { alarm }) });
  } catch (error) {
    if (!controller.signal.aborted) throw error;
    tell({ kind: "interrupted" });
  } finally {
    await opened.close();
  }
}

/** Trains to the end; when the alarm ends it, tells why, and the last good checkpoint stands for the system. */
async function trainSystem(config: Config, runFolder: string, { wiring }: OpenWiring): Promise<string | undefined> {
  const lineEvery = Math.max(1, Math.ceil(config.training.steps / 12));
  try {
    await train({
      config,
      runFolder,
      wiring,
      resume: true,
      signal: controller.signal,
      onProgress(event) {
        const step = event.kind === "step" ? event.metrics.step : event.kind === "checkpoint" ? undefined : event.step;
        if (step === undefined) return;
        const share = ((1 - evaluationShare) * step) / config.training.steps;
        if (event.kind !== "step") {
          const words = progressLine(event);
          return tell({ kind: "progress", share, words: words ?? "starts", milestone: words !== undefined });
        }
        const words = `step ${String(step).padStart(4)}/${event.steps}  ${stepWords(event.metrics)}`;
        tell({ kind: "progress", share, words, milestone: step % lineEvery === 0 || step === event.steps });
      },
    });
    return undefined;
  } catch (error) {
    if (error instanceof AlarmError && (await listCheckpoints(runFolder)).length > 0) return error.message;
    throw error;
  }
}

process.on("message", (message: ParentMessage) => {
  if (message.kind === "stop") return controller.abort();
  work(message.job)
    .catch((error: unknown) => tell({ kind: "failed", ...endingOf(error, process.env.COSEARCH_DEBUG === "1") }))
    .finally(() => process.disconnect?.());
});
// Ctrl-C (and what `timeout` and service managers send) reaches the whole process group; the parent decides what it means.
process.on("SIGINT", () => undefined);
process.on("SIGTERM", () => undefined);
// Without its parent a job has no one to work for; the run folder resumes from its last checkpoint.
process.on("disconnect", () => process.exit());
