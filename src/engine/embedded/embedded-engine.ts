/** The embedded engine: trains and samples one model in a worker thread, so that this one stays responsive. */
import type { Worker } from "node:worker_threads";
import { InfrastructureError } from "../../errors.ts";
import { fromPlainError } from "../../threads/plain-error.ts";
import { startWorker } from "../../threads/start-worker.ts";
import type { SampledTokens } from "../../types.ts";
import type {
  ForwardBackwardResult,
  Loss,
  OptimStepOptions,
  SampleRequest,
  ScoredSequence,
  TrainableEngine,
  TrainingExample,
} from "../engine.ts";
import type { ModelShape } from "./architecture.ts";
import type { EmbeddedEngineCore, EmbeddedEngineOptions } from "./engine-core.ts";
import type { PlainMethod, PlainOutcome, WorkerAnswer, WorkerCall } from "./worker-protocol.ts";

export type { EmbeddedEngineOptions } from "./engine-core.ts";

interface PendingCall {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

interface WaitingSample {
  readonly request: SampleRequest;
  readonly resolve: (outputs: SampledTokens[]) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Starts a worker thread and loads or makes the model in it.
 * @throws ConfigError for options that contradict one another; ModelError for a model folder that can't be used.
 */
export async function createEmbeddedEngine(options: EmbeddedEngineOptions): Promise<EmbeddedEngine> {
  const worker = startWorker(import.meta.url, "worker", options);
  try {
    return new EmbeddedEngine(worker, await creation(worker));
  } catch (error) {
    await worker.terminate();
    throw error;
  }
}

/** The shape of the model, once the worker has it. */
function creation(worker: Worker): Promise<ModelShape> {
  return new Promise((resolve, reject) => {
    worker.once("message", (answer: WorkerAnswer) =>
      "error" in answer ? reject(fromPlainError(answer.error)) : resolve(answer.value as ModelShape),
    );
    worker.once("error", reject);
    worker.once("exit", (code) =>
      reject(new InfrastructureError(`the embedded engine's thread ended while it started (exit code ${code})`)),
    );
  });
}

/** See `createEmbeddedEngine`. Calls are served in the order in which they are made. */
export class EmbeddedEngine implements TrainableEngine {
  private readonly pending = new Map<number, PendingCall>();
  private waiting: WaitingSample[] = [];
  private lastId = 0;
  /** Why no call can be served any more. */
  private ended: Error | undefined;
  private exited = false;
  /** Abort flags of the batches under way. */
  private readonly sampling = new Set<Int32Array>();

  /** @param shape The model's. */
  constructor(
    private readonly worker: Worker,
    readonly shape: ModelShape,
  ) {
    worker.on("message", (answer: WorkerAnswer) => this.settle(answer));
    worker.on("error", (error) =>
      this.end(new InfrastructureError(`the embedded engine's thread failed: ${error.message}`, { cause: error })),
    );
    worker.on("exit", (code) => {
      this.exited = true;
      this.end(new InfrastructureError(`the embedded engine's thread ended unexpectedly (exit code ${code})`));
    });
    worker.unref();
  }

  /** Requests made in the same turn of the event loop are served as one batch. Rejects with the signal's reason when aborted. */
  sample(request: SampleRequest): Promise<SampledTokens[]> {
    return new Promise((resolve, reject) => {
      if (this.ended) return reject(this.ended);
      if (request.signal?.aborted) return reject(request.signal.reason as Error);
      if (this.waiting.length === 0) setImmediate(() => this.sendSamples());
      this.waiting.push({ request, resolve, reject });
    });
  }

  logprobs(sequences: readonly ScoredSequence[]): Promise<number[][]> {
    return this.call("logprobs", sequences);
  }

  forwardBackward(examples: readonly TrainingExample[], loss: Loss): Promise<ForwardBackwardResult> {
    return this.call("forwardBackward", examples, loss);
  }

  optimStep(options: OptimStepOptions): Promise<{ gradientNorm: number; step: number }> {
    return this.call("optimStep", options);
  }

  saveState(folder: string): Promise<void> {
    return this.call("saveState", folder);
  }

  loadState(folder: string): Promise<void> {
    return this.call("loadState", folder);
  }

  exportModel(folder: string): Promise<void> {
    return this.call("exportModel", folder);
  }

  publish(): Promise<number> {
    return this.call("publish");
  }

  /**
   * Rejects the calls under way at once and ends the thread. Samples are given up between two tokens and other calls finish first:
   * onnxruntime brings the whole process down when its thread is terminated within a call.
   */
  async close(): Promise<void> {
    for (const aborted of this.sampling) aborted.fill(1);
    this.end(new Error("the embedded engine was closed"));
    if (this.exited) return;
    this.worker.ref();
    const exit = new Promise((resolve) => this.worker.once("exit", resolve));
    this.worker.postMessage({ id: ++this.lastId, method: "end" } satisfies WorkerCall);
    await exit;
  }

  private call<Method extends PlainMethod>(method: Method, ...argumentList: Parameters<EmbeddedEngineCore[Method]>) {
    // What was asked for before is served before.
    this.sendSamples();
    return this.post({ method, argumentList }) as ReturnType<EmbeddedEngineCore[Method]>;
  }

  private post(call: object): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.ended) return reject(this.ended);
      const id = ++this.lastId;
      this.pending.set(id, { resolve, reject });
      // The process stays alive for the worker only while something is awaited.
      this.worker.ref();
      this.worker.postMessage({ id, ...call });
    });
  }

  private sendSamples(): void {
    const batch = this.waiting;
    if (batch.length === 0) return;
    this.waiting = [];
    const aborted = new Int32Array(new SharedArrayBuffer(4 * batch.length));
    const stopListening = listenForAborts(batch, aborted);
    this.sampling.add(aborted);
    const requests = batch.map(({ request: { signal, ...request } }) => request);
    this.post({ method: "sample", requests, aborted: aborted.buffer })
      .then(
        (outcomes) => {
          (outcomes as PlainOutcome[]).forEach((outcome, index) => {
            const { resolve, reject } = batch[index] as WaitingSample;
            if ("outputs" in outcome) resolve(outcome.outputs);
            else reject(fromPlainError(outcome.error));
          });
        },
        (error: Error) => {
          for (const { reject } of batch) reject(error);
        },
      )
      .finally(() => {
        this.sampling.delete(aborted);
        stopListening();
      });
  }

  private settle(answer: WorkerAnswer): void {
    const call = this.pending.get(answer.id);
    this.pending.delete(answer.id);
    if (this.pending.size === 0 && !this.ended) this.worker.unref();
    if ("error" in answer) call?.reject(fromPlainError(answer.error));
    else call?.resolve(answer.value);
  }

  private end(reason: Error): void {
    this.ended ??= reason;
    for (const call of this.pending.values()) call.reject(this.ended);
    this.pending.clear();
    for (const sample of this.waiting) sample.reject(this.ended);
    this.waiting = [];
  }
}

/**
 * Rejects samples whose signal aborts and sets their flags, which the worker reads. One listener a signal: many requests may share
 * one. The returned function ends it.
 */
function listenForAborts(batch: readonly WaitingSample[], aborted: Int32Array): () => void {
  const listeners = new Map<AbortSignal, () => void>();
  for (const { request } of batch) {
    const { signal } = request;
    if (signal === undefined || listeners.has(signal)) continue;
    const abort = () => {
      batch.forEach(({ request, reject }, index) => {
        if (request.signal !== signal) return;
        Atomics.store(aborted, index, 1);
        reject(signal.reason as Error);
      });
    };
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort);
    listeners.set(signal, abort);
  }
  return () => {
    for (const [signal, abort] of listeners) signal.removeEventListener("abort", abort);
  };
}
