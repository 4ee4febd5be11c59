/** The training loop with all its input and output: steps, checkpoints, dev evaluations, the alarm, exact resume. */
import { agentProtocolFor } from "../agent/agent-protocol.ts";
import type { AgentProtocol } from "../agent/protocol.ts";
import type { Config } from "../config.ts";
import { AlarmError, ConfigError, RunFolderError } from "../errors.ts";
import { createSearch, rankerProtocolFor } from "../ranker/systems.ts";
import { batchedRetriever } from "../retrieval/batched-retriever.ts";
import type { Search } from "../retrieval/search.ts";
import { checkAlarm } from "./alarm.ts";
import {
  addDevScores,
  type Checkpoint,
  type DevScores,
  listCheckpoints,
  loadCheckpoint,
  pruneCheckpoints,
  saveCheckpoint,
  selectedCheckpoint,
  type TrainedEngines,
} from "./checkpoint.ts";
import { questionsForStep } from "./dataset.ts";
import { evaluateDev } from "./dev-evaluation.ts";
import type { PolicyVersions } from "./freshness.ts";
import type { StepMetrics } from "./metrics.ts";
import { openRunFolder, type RunFolder } from "./run-dir.ts";
import { type StepContext, trainStep } from "./step.ts";
import { questionRolloutRecord } from "./trajectory-record.ts";
import { sharesBackbone, type Wiring } from "./wiring.ts";

/** What a run tells while it goes on. */
export type TrainProgress =
  | { readonly kind: "started"; readonly step: number; readonly steps: number; readonly resumed: boolean }
  | { readonly kind: "step"; readonly steps: number; readonly metrics: StepMetrics }
  | { readonly kind: "evaluation"; readonly step: number; readonly dev: DevScores }
  | { readonly kind: "checkpoint"; readonly step: number; readonly folder: string };

/** A run to be started or resumed. */
export interface TrainRequest {
  readonly config: Config;
  readonly runFolder: string;
  readonly wiring: Wiring;
  /** Go on with the run in the folder, if there is one; without it a folder that holds a run is refused. */
  readonly resume?: boolean;
  readonly onProgress?: (progress: TrainProgress) => void;
  /** Ctrl-C: the step under way is given up (or, once its update has begun, finished), then a checkpoint is saved. */
  readonly signal?: AbortSignal;
}

/** How far a run came. */
export interface TrainResult {
  readonly status: "finished" | "interrupted";
  /** Steps done. */
  readonly step: number;
  /** Best on dev, or the last one. */
  readonly checkpoint: Checkpoint;
}

/** Questions of a step whose rollouts are kept in full. */
const recordedQuestions = 2;

/**
 * Trains a run to its end. Killed at any moment and called again with `resume`, it ends with the same metrics and weights as one never
 * stopped, because all that is random derives from (seed, step).
 * @throws RunFolderError, ModelError, ConfigError; AlarmError when the run collapses (the last good checkpoint is kept).
 */
export async function train(request: TrainRequest): Promise<TrainResult> {
  const { config, wiring } = request;
  const run = prepare(config, wiring);
  const folder = await openRunFolder(request.runFolder, { config, inputs: wiring.inputs, resume: request.resume ?? false });
  try {
    return await loop(request, run, folder);
  } finally {
    await folder.release();
  }
}

interface PreparedRun {
  readonly protocol: AgentProtocol;
  readonly context: StepContext;
  readonly evaluationSearch: Search;
  readonly engines: TrainedEngines;
}

/** Everything that can be wrong with the wiring is found here, before the run folder is touched. */
function prepare(config: Config, wiring: Wiring): PreparedRun {
  const protocol = agentProtocolFor(config, wiring.main.renderer);
  const retriever = batchedRetriever(wiring.retriever);
  const ranker = wiring.ranker && {
    ...wiring.ranker,
    protocol: rankerProtocolFor(config, wiring.ranker.renderer, wiring.ranker.contextTokens),
  };
  const parts = { retriever, ...(ranker ? { ranker: { sampler: ranker.engine, protocol: ranker.protocol } } : {}) };
  const search = createSearch(config, parts, "training");
  const trainedRanker = config.system === "cosearch" ? ranker : undefined;
  for (const [name, policy] of Object.entries({ main: wiring.main, ranker: trainedRanker })) {
    if (config.grpo.klCoefficient > 0 && policy && !policy.reference) {
      throw new ConfigError(
        `grpo.klCoefficient is ${config.grpo.klCoefficient}, which needs a reference engine for the ${name} policy: set it to 0 or supply one`,
      );
    }
  }
  if (wiring.trainQuestions.length === 0) throw new ConfigError("data.train holds no questions");
  if (config.training.evaluateEvery > 0 && wiring.devQuestions.length === 0) {
    throw new ConfigError("training.evaluateEvery is set, but data.dev holds no questions: add some or set it to 0");
  }
  const publish = async (): Promise<PolicyVersions> => {
    if (sharesBackbone(wiring)) {
      const version = await wiring.main.engine.publish();
      return { main: version, ranker: version };
    }
    // The frozen ranker publishes too, for its prefix cache; its version is nobody's concern.
    const [mainVersion, rankerVersion] = await Promise.all([wiring.main.engine.publish(), ranker?.engine.publish()]);
    return { main: mainVersion, ...(trainedRanker ? { ranker: rankerVersion } : {}) };
  };
  return {
    protocol,
    context: { config, protocol, search, publish, main: wiring.main, ...(trainedRanker ? { ranker: trainedRanker } : {}) },
    evaluationSearch: createSearch(config, parts, "evaluation"),
    engines: { main: wiring.main.engine, ...(trainedRanker && !sharesBackbone(wiring) ? { ranker: trainedRanker.engine } : {}) },
  };
}

async function loop(request: TrainRequest, run: PreparedRun, folder: RunFolder): Promise<TrainResult> {
  const { config, wiring, signal, onProgress } = request;
  const { training } = config;
  let saved = await restore(folder, run.engines);
  let step = saved?.manifest.step ?? 0;
  const history = await folder.readLines<StepMetrics>("metrics.jsonl");
  if (history.length !== step) {
    throw new RunFolderError(
      `${folder.path}/metrics.jsonl tells of ${history.length} steps, the checkpoint of ${step}: restore the file, or start a new run`,
    );
  }
  onProgress?.({ kind: "started", step, steps: training.steps, resumed: folder.resumed });

  const save = async (dev?: DevScores) => {
    if (saved?.manifest.step === step) {
      if (dev) saved = await addDevScores(saved, dev);
    } else saved = await saveCheckpoint(folder.path, step, run.engines, dev);
    await folder.putLine("checkpoints.jsonl", { step, ...(saved.manifest.dev ? { dev: saved.manifest.dev } : {}) });
    await pruneCheckpoints(folder.path, training.keepCheckpoints);
    onProgress?.({ kind: "checkpoint", step, folder: saved.folder });
  };

  try {
    for (;;) {
      // Here the weights are those after `step` steps, whether just reached or just restored.
      const last = step === training.steps;
      const evaluates = training.evaluateEvery > 0 && (last || step % training.evaluateEvery === 0);
      if (evaluates && !(saved?.manifest.step === step && saved.manifest.dev)) {
        const { context, protocol, evaluationSearch: search } = run;
        await context.publish();
        const dev = await evaluateDev({ config, protocol, sampler: context.main.engine, search, questions: wiring.devQuestions, signal });
        await folder.putLine("evaluations/dev.jsonl", { step, ...dev });
        onProgress?.({ kind: "evaluation", step, dev });
        await save(dev);
      } else if ((last || (step > 0 && step % training.checkpointEvery === 0)) && saved?.manifest.step !== step) {
        await save();
      }
      if (last) return { status: "finished", step, checkpoint: await selectedCheckpoint(folder.path) };

      signal?.throwIfAborted();
      const questions = questionsForStep(wiring.trainQuestions, { seed: config.seed, step, questionsPerStep: training.questionsPerStep });
      const result = await trainStep(run.context, { step: step + 1, questions, signal });
      step++;
      history.push(result.metrics);
      const records = questions.slice(0, recordedQuestions).flatMap((question, position) => {
        const mainGroup = result.mainGroups[position];
        return mainGroup ? [questionRolloutRecord(step, question, mainGroup, result.rankerGroups[position] ?? [])] : [];
      });
      await folder.writeTrajectories(step, records);
      await folder.appendLine("metrics.jsonl", result.metrics);
      onProgress?.({ kind: "step", steps: training.steps, metrics: result.metrics });
      stopOnAlarm(history, config, saved);
    }
  } catch (error) {
    if (!isAbort(error, signal)) throw error;
    if (saved?.manifest.step !== step) await save();
    return { status: "interrupted", step, checkpoint: await selectedCheckpoint(folder.path) };
  }
}

/** Loads the newest checkpoint and takes the folder's files back to its step. */
async function restore(folder: RunFolder, engines: TrainedEngines): Promise<Checkpoint | undefined> {
  const checkpoint = (await listCheckpoints(folder.path)).at(-1);
  const step = checkpoint?.manifest.step ?? 0;
  if (checkpoint) await loadCheckpoint(checkpoint, engines);
  for (const file of ["metrics.jsonl", "checkpoints.jsonl", "evaluations/dev.jsonl"]) await folder.truncateLines(file, step);
  await folder.truncateTrajectories(step);
  return checkpoint;
}

function stopOnAlarm(history: readonly StepMetrics[], config: Config, saved: Checkpoint | undefined): void {
  const finding = checkAlarm(history, config.alarm);
  if (!finding) return;
  const kept = saved ? `the last good checkpoint is ${saved.folder}` : "no checkpoint had been saved yet";
  const { metric, value, threshold, what } = finding;
  const found =
    threshold === undefined
      ? `${metric} = ${value} ${what}`
      : `${metric} = ${value} (mean of the last ${config.alarm.window} steps) ${what} (${threshold})`;
  throw new AlarmError(`stopped after step ${history.length}: ${found}; ${kept}`);
}

function isAbort(error: unknown, signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true && (error === signal.reason || (error instanceof Error && error.name === "AbortError"));
}
