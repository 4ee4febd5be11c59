import type { Worker } from "node:worker_threads";
import { InfrastructureError } from "../errors.ts";
import { fromPlainError, type PlainError } from "./plain-error.ts";

/** A worker's messages. Each answers the call of its id; call 0 is the worker's own start. */
export type WorkerCallAnswer = { readonly id: number; readonly value: unknown } | { readonly id: number; readonly error: PlainError };

interface PendingCall {
  /** Whose call it is, where several share the worker. */
  readonly owner: unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** The calls that wait for a worker thread. The process stays alive for it only while something is awaited. */
export class WorkerCalls {
  private readonly pending = new Map<number, PendingCall>();
  private lastId = 0;
  private exited = false;
  private reason: Error | undefined;
  private readonly start: Promise<unknown>;

  /** @param title What errors call the thread: `the encoder's thread`. */
  constructor(
    private readonly worker: Worker,
    title: string,
  ) {
    this.start = new Promise((resolve, reject) => this.pending.set(0, { owner: undefined, resolve, reject }));
    worker.on("message", (answer: WorkerCallAnswer) => this.settle(answer));
    worker.on("error", (error) => this.end(new InfrastructureError(`${title} failed: ${error.message}`, { cause: error })));
    worker.on("exit", (code) => {
      this.exited = true;
      this.end(new InfrastructureError(`${title} ended unexpectedly (exit code ${code})`));
    });
  }

  /** Why no call can be served any more. */
  get ended(): Error | undefined {
    return this.reason;
  }

  /** What the worker answers to its own start. @throws What kept it from starting; the thread has ended then. */
  async started(): Promise<unknown> {
    try {
      return await this.start;
    } catch (error) {
      await this.worker.terminate();
      throw error;
    }
  }

  /** Sends a message under a new id and waits for its answer. @throws What the worker answers, or why it can't. */
  call(message: object, owner?: unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.reason) return reject(this.reason);
      const id = ++this.lastId;
      this.pending.set(id, { owner, resolve, reject });
      this.worker.ref();
      this.worker.postMessage({ id, ...message });
    });
  }

  /** Rejects at once what an owner waits for; the worker's answers to it are dropped. */
  reject(owner: unknown, reason: Error): void {
    for (const [id, call] of this.pending) {
      if (call.owner !== owner) continue;
      this.pending.delete(id);
      call.reject(reason);
    }
  }

  /**
   * Rejects all calls, sends the last message and waits until the thread has ended by itself: onnxruntime brings the whole process down
   * when its thread is terminated within a call.
   */
  async close(lastMessage: object, reason: Error): Promise<void> {
    this.end(reason);
    if (this.exited) return;
    this.worker.ref();
    const exit = new Promise((resolve) => this.worker.once("exit", resolve));
    this.worker.postMessage({ id: ++this.lastId, ...lastMessage });
    await exit;
  }

  private settle(answer: WorkerCallAnswer): void {
    const call = this.pending.get(answer.id);
    this.pending.delete(answer.id);
    if (this.pending.size === 0 && !this.reason) this.worker.unref();
    if ("error" in answer) call?.reject(fromPlainError(answer.error));
    else call?.resolve(answer.value);
  }

  private end(reason: Error): void {
    this.reason ??= reason;
    for (const call of this.pending.values()) call.reject(this.reason);
    this.pending.clear();
  }
}
