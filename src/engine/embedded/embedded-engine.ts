/** The embedded engine: trains and samples one model in a worker thread, so that this one stays responsive. */

import { fromPlainError } from "../../threads/plain-error.ts";
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
import type { EmbeddedEngineCore, EmbeddedEngineOptions, PolicyOptions } from "./engine-core.ts";
import { EngineThread } from "./engine-thread.ts";
import { firstPolicy, type PlainMethod, type PlainOutcome } from "./worker-protocol.ts";

export type { EmbeddedEngineOptions, PolicyOptions } from "./engine-core.ts";

interface WaitingSample {
  readonly request: SampleRequest;
  readonly resolve: (outputs: SampledTokens[]) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Starts a worker thread and loads or makes the model in it.
 * @throws ConfigError for options that contradict one another; ModelError for a model folder or adapter that can't be used.
 */
export async function createEmbeddedEngine(options: EmbeddedEngineOptions): Promise<EmbeddedEngine> {
  const { thread, shape } = await EngineThread.start(options);
  return new EmbeddedEngine(thread, firstPolicy, shape);
}

/** See `createEmbeddedEngine`. Calls are served in the order in which they are made. */
export class EmbeddedEngine implements TrainableEngine {
  private waiting: WaitingSample[] = [];
  private closed: Error | undefined;
  /** Abort flags of the batches under way. */
  private readonly sampling = new Set<Int32Array>();

  /** @param shape The model's. */
  constructor(
    private readonly thread: EngineThread,
    private readonly policy: number,
    readonly shape: ModelShape,
  ) {}

  /**
   * Another policy over the same frozen weights, which stay in memory once: an adapter of its own, or (without one) the model as it is.
   * Both take turns in one thread; either may be closed first.
   * @throws ConfigError when this engine trains the weights themselves; ModelError for an adapter that can't be used.
   */
  async beside(options: PolicyOptions): Promise<EmbeddedEngine> {
    return new EmbeddedEngine(this.thread, await this.thread.addPolicy(options), this.shape);
  }

  /** Requests made in the same turn of the event loop are served as one batch. Rejects with the signal's reason when aborted. */
  sample(request: SampleRequest): Promise<SampledTokens[]> {
    return new Promise((resolve, reject) => {
      if (this.closed) return reject(this.closed);
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

  /**
   * Writes the adapter as PEFT and vLLM read it.
   * @param baseModel What `base_model_name_or_path` is to say: a folder or Hugging Face name.
   * @throws ConfigError when the engine has none.
   */
  exportAdapter(folder: string, baseModel: string): Promise<void> {
    return this.call("exportAdapter", folder, baseModel);
  }

  publish(): Promise<number> {
    return this.call("publish");
  }

  /** Rejects the calls under way at once and frees the model. Samples are given up between two tokens, other calls finish first. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = new Error("the embedded engine was closed");
    for (const aborted of this.sampling) aborted.fill(1);
    for (const sample of this.waiting) sample.reject(this.closed);
    this.waiting = [];
    await this.thread.removePolicy(this.policy, this.closed);
  }

  private call<Method extends PlainMethod>(method: Method, ...argumentList: Parameters<EmbeddedEngineCore[Method]>) {
    if (this.closed) return Promise.reject(this.closed) as ReturnType<EmbeddedEngineCore[Method]>;
    // What was asked for before is served before.
    this.sendSamples();
    const call = { method, argumentList } as Parameters<EngineThread["post"]>[1];
    return this.thread.post(this.policy, call) as ReturnType<EmbeddedEngineCore[Method]>;
  }

  private sendSamples(): void {
    const batch = this.waiting;
    if (batch.length === 0) return;
    this.waiting = [];
    const aborted = new Int32Array(new SharedArrayBuffer(4 * batch.length));
    const stopListening = listenForAborts(batch, aborted);
    this.sampling.add(aborted);
    const requests = batch.map(({ request: { signal, ...request } }) => request);
    this.thread
      .post(this.policy, { method: "sample", requests, aborted: aborted.buffer })
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
