/** A worker thread with one model in it, and the calls that wait for it. */
import type { Worker } from "node:worker_threads";
import { InfrastructureError } from "../../errors.ts";
import { fromPlainError } from "../../threads/plain-error.ts";
import { startWorker } from "../../threads/start-worker.ts";
import type { ModelShape } from "./architecture.ts";
import type { EmbeddedEngineOptions, PolicyOptions } from "./engine-core.ts";
import { type CallBody, firstPolicy, type WorkerAnswer, type WorkerCall } from "./worker-protocol.ts";

interface PendingCall {
  readonly policy: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Serves one or several policies over the same weights, their calls in the order in which they are made. */
export class EngineThread {
  private readonly pending = new Map<number, PendingCall>();
  private readonly policies = new Set<number>([firstPolicy]);
  private lastId = 0;
  private lastPolicy = firstPolicy;
  /** Why no call can be served any more. */
  private ended: Error | undefined;
  private exited = false;

  private constructor(private readonly worker: Worker) {
    worker.on("message", (answer: WorkerAnswer) => this.settle(answer));
    worker.on("error", (error) =>
      this.end(new InfrastructureError(`the embedded engine's thread failed: ${error.message}`, { cause: error })),
    );
    worker.on("exit", (code) => {
      this.exited = true;
      this.end(new InfrastructureError(`the embedded engine's thread ended unexpectedly (exit code ${code})`));
    });
  }

  /** Starts a thread and loads or makes its model. @throws What making the model throws. */
  static async start(options: EmbeddedEngineOptions): Promise<{ readonly thread: EngineThread; readonly shape: ModelShape }> {
    const thread = new EngineThread(startWorker(import.meta.url, "worker", options));
    try {
      // The worker answers its own creation as call 0.
      const shape = await new Promise((resolve, reject) => thread.pending.set(0, { policy: firstPolicy, resolve, reject }));
      return { thread, shape: shape as ModelShape };
    } catch (error) {
      await thread.worker.terminate();
      throw error;
    }
  }

  /** A further policy over the frozen weights. @throws ConfigError when they aren't frozen; ModelError for an unusable adapter. */
  async addPolicy(options: PolicyOptions): Promise<number> {
    const policy = ++this.lastPolicy;
    await this.post(policy, { method: "addPolicy", options });
    this.policies.add(policy);
    return policy;
  }

  /** Sends a call and waits for its answer. */
  post(policy: number, call: CallBody): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.ended) return reject(this.ended);
      const id = ++this.lastId;
      this.pending.set(id, { policy, resolve, reject });
      // The process stays alive for the worker only while something is awaited.
      this.worker.ref();
      this.worker.postMessage({ id, policy, ...call } satisfies WorkerCall);
    });
  }

  /**
   * Rejects a policy's calls at once and frees it once the call under way is done; the last one takes the thread with it: onnxruntime brings
   * the whole process down when its thread is terminated within a call.
   */
  async removePolicy(policy: number, reason: Error): Promise<void> {
    for (const [id, call] of this.pending) {
      if (call.policy !== policy) continue;
      this.pending.delete(id);
      call.reject(reason);
    }
    this.policies.delete(policy);
    if (this.policies.size > 0 && this.ended === undefined) {
      await this.post(policy, { method: "closePolicy" }).catch((error) => {
        // The last policy was closed meanwhile: the thread has ended with all that was in it.
        if (this.ended === undefined) throw error;
      });
      return;
    }
    this.end(reason);
    if (this.exited) return;
    this.worker.ref();
    const exit = new Promise((resolve) => this.worker.once("exit", resolve));
    this.worker.postMessage({ id: ++this.lastId, policy, method: "end" } satisfies WorkerCall);
    await exit;
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
  }
}
