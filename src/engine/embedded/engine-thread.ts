/** A worker thread with one model in it, and the calls that wait for it. */
import { startWorker } from "../../threads/start-worker.ts";
import { WorkerCalls } from "../../threads/worker-calls.ts";
import type { ModelShape } from "./architecture.ts";
import type { EmbeddedEngineOptions, PolicyOptions } from "./engine-core.ts";
import { type CallBody, firstPolicy } from "./worker-protocol.ts";

/** Serves one or several policies over the same weights, their calls in the order in which they are made. */
export class EngineThread {
  private readonly policies = new Set<number>([firstPolicy]);
  private lastPolicy = firstPolicy;

  private constructor(private readonly calls: WorkerCalls) {}

  /** Starts a thread and loads or makes its model. @throws What making the model throws. */
  static async start(options: EmbeddedEngineOptions): Promise<{ readonly thread: EngineThread; readonly shape: ModelShape }> {
    const calls = new WorkerCalls(startWorker(import.meta.url, "worker", options), "the embedded engine's thread");
    const shape = (await calls.started()) as ModelShape;
    return { thread: new EngineThread(calls), shape };
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
    return this.calls.call({ policy, ...call }, policy);
  }

  /** Rejects a policy's calls at once and frees it once the call under way is done; the last one takes the thread with it. */
  async removePolicy(policy: number, reason: Error): Promise<void> {
    this.calls.reject(policy, reason);
    this.policies.delete(policy);
    if (this.policies.size === 0 || this.calls.ended) return this.calls.close({ policy, method: "end" } satisfies LastCall, reason);
    await this.post(policy, { method: "closePolicy" }).catch((error) => {
      // The last policy was closed meanwhile: the thread has ended with all that was in it.
      if (this.calls.ended === undefined) throw error;
    });
  }
}

type LastCall = { readonly policy: number; readonly method: "end" };
