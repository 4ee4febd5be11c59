import { outcomesOf, type Retriever } from "../retrieval/retriever.ts";
import type { Candidate } from "../types.ts";

/** How requests share searches. */
export interface MicroBatcherOptions {
  /** Most queries of one search. */
  readonly batchQueries: number;
  /** How long a request waits for others to share its search; one that comes alone does not wait. */
  readonly batchMilliseconds: number;
  /** Most requests under way or waiting. */
  readonly maxWaiting: number;
  /** Searches under way at once; more than one where a search waits for the network. */
  readonly concurrentSearches: number;
  /** Told of every search; `queries` counts distinct ones. */
  readonly onBatch?: (batch: { readonly requests: number; readonly queries: number }) => void;
}

/** As many requests as allowed are under way or waiting. */
export class OverloadedError extends Error {
  override readonly name = "OverloadedError";
}

/** A request that is not answered yet. */
interface Pending {
  readonly topK: number;
  readonly results: (Candidate[] | undefined)[];
  readonly since: number;
  unanswered: number;
  settled: boolean;
  readonly resolve: (results: Candidate[][]) => void;
  readonly reject: (reason: unknown) => void;
}

/** Queries of one request that are searched together: all of them unless there are more than a search takes. */
interface Piece {
  readonly pending: Pending;
  readonly queries: readonly string[];
  /** Place of the first one among the request's queries. */
  readonly start: number;
}

/**
 * Searches for many requests at once. Only requests for the same number of passages share a search, because what a retriever finds may depend
 * on it, and an answer must not depend on who else asked. When a shared search fails, each request is searched alone, so that nobody fails for
 * another's query.
 */
export class MicroBatcher {
  /** Requests under way or waiting. */
  waiting = 0;
  private queue: Piece[] = [];
  private searching = 0;
  private lastShared = false;
  private timer: NodeJS.Timeout | undefined;
  private turn: NodeJS.Immediate | undefined;
  private idleListeners: (() => void)[] = [];

  constructor(
    private readonly retriever: Retriever,
    private readonly options: MicroBatcherOptions,
  ) {}

  get isFull(): boolean {
    return this.waiting >= this.options.maxWaiting;
  }

  /**
   * A list of candidates a query. `signal` takes the request out of the queue.
   * @throws OverloadedError, whatever the retriever throws, or the signal's reason.
   */
  async search(queries: readonly string[], topK: number, signal?: AbortSignal): Promise<Candidate[][]> {
    const { maxWaiting, batchQueries } = this.options;
    signal?.throwIfAborted();
    if (queries.length === 0) return [];
    if (this.isFull) throw new OverloadedError(`overloaded: ${maxWaiting} requests are under way or waiting`);
    this.waiting++;
    let stop: (() => void) | undefined;
    try {
      return await new Promise<Candidate[][]>((resolve, reject) => {
        const results = queries.map(() => undefined);
        const pending = { topK, results, since: performance.now(), unanswered: queries.length, settled: false, resolve, reject };
        for (let start = 0; start < queries.length; start += batchQueries) {
          this.queue.push({ pending, queries: queries.slice(start, start + batchQueries), start });
        }
        stop = () => this.fail(pending, signal?.reason);
        signal?.addEventListener("abort", stop, { once: true });
        this.schedule();
      });
    } finally {
      if (stop) signal?.removeEventListener("abort", stop);
      this.waiting--;
      if (this.waiting === 0) for (const tell of this.idleListeners.splice(0)) tell();
    }
  }

  /** Resolves when no request is under way. */
  async idle(): Promise<void> {
    if (this.waiting > 0) await new Promise<void>((resolve) => this.idleListeners.push(resolve));
  }

  private schedule(): void {
    const [oldest] = this.queue;
    const { batchQueries, batchMilliseconds, concurrentSearches } = this.options;
    if (oldest === undefined || this.searching >= concurrentSearches) return;
    const queued = this.queue.reduce((sum, { pending, queries }) => sum + (pending.topK === oldest.pending.topK ? queries.length : 0), 0);
    const othersAreAbout = this.lastShared || this.searching > 0 || this.queue.some(({ pending }) => pending !== oldest.pending);
    const wait = queued >= batchQueries || !othersAreAbout ? 0 : oldest.pending.since + batchMilliseconds - performance.now();
    clearTimeout(this.timer);
    clearImmediate(this.turn);
    // Even without a wait, what arrives in one turn of the event loop is searched together.
    if (wait > 0) this.timer = setTimeout(() => void this.run(), wait);
    else this.turn = setImmediate(() => void this.run());
  }

  private async run(): Promise<void> {
    const batch = this.takeBatch();
    if (batch.length === 0) return;
    this.searching++;
    this.lastShared = batch.length > 1;
    this.schedule();
    await this.searchBatch(batch);
    this.searching--;
    this.schedule();
  }

  private takeBatch(): Piece[] {
    const topK = this.queue[0]?.pending.topK;
    const batch: Piece[] = [];
    const others: Piece[] = [];
    let queries = 0;
    for (const piece of this.queue) {
      const fits = piece.pending.topK === topK && queries + piece.queries.length <= this.options.batchQueries;
      if (fits) queries += piece.queries.length;
      (fits ? batch : others).push(piece);
    }
    this.queue = others;
    return batch;
  }

  private async searchBatch(batch: readonly Piece[]): Promise<void> {
    const [first] = batch as readonly [Piece];
    const queries = [...new Set(batch.flatMap((piece) => piece.queries))];
    this.options.onBatch?.({ requests: batch.length, queries: queries.length });
    try {
      const found = await outcomesOf(this.retriever, queries, first.pending.topK);
      const byQuery = new Map(queries.map((query, index) => [query, found[index] as PromiseSettledResult<Candidate[]>]));
      for (const piece of batch) this.answer(piece, byQuery);
    } catch (error) {
      if (batch.length === 1) this.fail(first.pending, error);
      else await Promise.all(batch.map((piece) => piece.pending.settled || this.searchBatch([piece])));
    }
  }

  private answer({ pending, queries, start }: Piece, byQuery: ReadonlyMap<string, PromiseSettledResult<Candidate[]>>): void {
    for (const [index, query] of queries.entries()) {
      const outcome = byQuery.get(query) as PromiseSettledResult<Candidate[]>;
      if (outcome.status === "rejected") {
        this.fail(pending, outcome.reason);
        return;
      }
      pending.results[start + index] = outcome.value;
    }
    pending.unanswered -= queries.length;
    if (pending.unanswered > 0 || pending.settled) return;
    pending.settled = true;
    pending.resolve(pending.results as Candidate[][]);
  }

  private fail(pending: Pending, reason: unknown): void {
    if (pending.settled) return;
    pending.settled = true;
    this.queue = this.queue.filter((piece) => piece.pending !== pending);
    pending.reject(reason);
  }
}
