/** The searching side of an exact index. */
import type { Worker } from "node:worker_threads";
import type { Metric } from "../../config.ts";
import { InfrastructureError } from "../../errors.ts";
import { fromPlainError } from "../../threads/plain-error.ts";
import { checkQueries } from "./check-queries.ts";
import { type ExactWorkerAnswer, type ExactWorkerCall, type ExactWorkerData, fromPlainHits } from "./exact-vectors-protocol.ts";
import type { Hit, VectorIndex } from "./vector-index.ts";

/** The worker's next answer. */
export function answerOf(worker: Worker): Promise<Exclude<ExactWorkerAnswer, { error: unknown }>> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void) => {
      worker.off("message", onMessage).off("error", onError).off("exit", onExit);
      act();
    };
    const onMessage = (answer: ExactWorkerAnswer) =>
      settle(() => ("error" in answer ? reject(fromPlainError(answer.error)) : resolve(answer)));
    const onError = (error: Error) =>
      settle(() => reject(new InfrastructureError(`the thread of the exact index failed: ${error.message}`, { cause: error })));
    const onExit = (code: number) =>
      settle(() => reject(new InfrastructureError(`the thread of the exact index ended unexpectedly (exit code ${code})`)));
    worker.on("message", onMessage).on("error", onError).on("exit", onExit);
  });
}

/** Most queries that one pass over the vectors serves. */
const passQueries = 256;

interface WaitingQuery {
  readonly query: Float32Array;
  readonly topK: number;
  readonly resolve: (hits: Hit[]) => void;
  readonly reject: (error: Error) => void;
}

/** An exact index: collects the queries of concurrent searches into passes, which its worker makes one after the other. */
export class ExactVectors implements VectorIndex {
  readonly rows: number;
  readonly dimensions: number;
  readonly metric: Metric;
  readonly inMemory: boolean;
  private waiting: WaitingQuery[] = [];
  /** The passes under way, or about to begin. */
  private passes: Promise<void> | undefined;
  private exited = false;
  private closing: Promise<void> | undefined;

  constructor(
    private readonly worker: Worker,
    private readonly data: ExactWorkerData,
    opened: { readonly rows: number; readonly inMemory: boolean },
  ) {
    this.rows = opened.rows;
    this.inMemory = opened.inMemory;
    this.dimensions = data.dimensions;
    this.metric = data.metric;
    worker.on("exit", () => {
      this.exited = true;
    });
    // An error while nothing is asked of it: told by the next search.
    worker.on("error", () => undefined);
    worker.unref();
  }

  /**
   * @throws RangeError as `checkQueries` does; DataError and InfrastructureError when the vectors can't be read.
   */
  async search(queries: readonly Float32Array[], topK: number): Promise<Hit[][]> {
    checkQueries(queries, topK, this.dimensions);
    const found = queries.map((query) => new Promise<Hit[]>((resolve, reject) => this.waiting.push({ query, topK, resolve, reject })));
    this.passes ??= this.runPasses();
    return Promise.all(found);
  }

  close(): Promise<void> {
    this.closing ??= this.end();
    return this.closing;
  }

  private async runPasses(): Promise<void> {
    // Searches of the same turn of the event loop share a pass.
    await new Promise((resolve) => setImmediate(resolve));
    this.worker.ref();
    while (this.waiting.length > 0) {
      const pass = this.waiting.splice(0, passQueries);
      try {
        const hits = await this.findHits(pass);
        pass.forEach(({ resolve }, index) => {
          resolve(hits[index] as Hit[]);
        });
      } catch (error) {
        for (const { reject } of pass) reject(error as Error);
      }
    }
    // The process stays alive for the worker only while something is awaited.
    this.worker.unref();
    this.passes = undefined;
  }

  private async findHits(pass: readonly WaitingQuery[]): Promise<Hit[][]> {
    if (this.closing !== undefined) throw new InfrastructureError(`${this.data.file}: the index is closed`);
    if (this.exited) throw new InfrastructureError(`${this.data.file}: the search thread has ended: open the index again`);
    const answer = answerOf(this.worker);
    this.send({ queries: pass.map(({ query }) => query), topK: pass.map(({ topK }) => topK) });
    const hits = await answer;
    if (!("counts" in hits)) throw new InfrastructureError(`${this.data.file}: the search thread answered out of turn`);
    return fromPlainHits(hits);
  }

  /** Gives up what is under way between two blocks: onnxruntime brings the process down when its thread is terminated within a call. */
  private async end(): Promise<void> {
    Atomics.store(new Int32Array(this.data.closed), 0, 1);
    await this.passes;
    if (this.exited) return;
    this.worker.ref();
    const exit = new Promise((resolve) => this.worker.once("exit", resolve));
    this.send({ queries: [], topK: [] });
    await exit;
  }

  private send(call: ExactWorkerCall): void {
    this.worker.postMessage(call);
  }
}
