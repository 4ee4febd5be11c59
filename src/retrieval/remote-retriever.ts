import { setMaxListeners } from "node:events";
import pLimit from "p-limit";
import pRetry from "p-retry";
import { retrievalConfigSchema } from "../config.ts";
import { readKey } from "../endpoint/endpoint-address.ts";
import { ConfigError, InfrastructureError } from "../errors.ts";
import type { Candidate } from "../types.ts";
import { QueryCache } from "./query-cache.ts";
import type { Retriever } from "./retriever.ts";
import { pause, retrieveAddress, retrieveOnce } from "./wire/retrieve-client.ts";
import { RetrieveFailure } from "./wire/retrieve-failure.ts";

/** Settings of a {@link remoteRetriever}: the section `retrieval.remote`, whose defaults they have, and the cache. */
export interface RemoteRetrieverOptions {
  /** Address of the server, with or without `/retrieve`. */
  readonly url: string;
  /** Environment variable that holds the bearer token; absent: none is sent. */
  readonly tokenVariable?: string | undefined;
  /** Time limit of one request. Default 30. */
  readonly timeoutSeconds?: number;
  /** Further attempts after 429, 5xx and connection errors. Default 5. */
  readonly retries?: number;
  /** Most requests at once. Default 8. */
  readonly concurrency?: number;
  /** Most queries in one request. Default 64. */
  readonly batchQueries?: number;
  /** Results remembered; 0: none. Default 20,000. */
  readonly cacheSize?: number;
  /** First wait between attempts, doubled each time and stretched by a random factor in [1, 2). Default 500. */
  readonly backoffMilliseconds?: number;
}

/** A retriever that holds connections. */
export interface RemoteRetriever extends Retriever {
  searchEach(queries: readonly string[], topK: number): Promise<PromiseSettledResult<Candidate[]>[]>;
  /** Ends what is under way: it fails, as does every later search. */
  close(): Promise<void>;
}

/** Longest wait between two attempts. */
const longestBackoffMilliseconds = 30_000;

/** What the requests of one search know of each other. */
interface Progress {
  /** Whether any was answered. */
  answered: boolean;
  /** Set when one failed for good because the server can't be reached. */
  outage?: RetrieveFailure;
}

/**
 * A retriever on another machine or in another process: `cosearch serve retrieval`, Search-R1's own server, or any other of that wire
 * (see `wire/retrieve-wire.ts`). Transient failures are tried again; a request that the server can't answer is cut in halves until the
 * query at fault stands alone, so that `searchEach` fails for that one only.
 * @throws ConfigError for an address or token that can't be used.
 */
export function remoteRetriever(options: RemoteRetrieverOptions): RemoteRetriever {
  const { retrieval } = retrievalConfigSchema.parse({});
  const { timeoutSeconds = retrieval.remote.timeoutSeconds, retries = retrieval.remote.retries } = options;
  const { concurrency = retrieval.remote.concurrency, batchQueries = retrieval.remote.batchQueries } = options;
  const { cacheSize = retrieval.cacheSize, backoffMilliseconds = 500 } = options;
  const endpoint = { address: retrieveAddress(options.url), token: readToken(options.tokenVariable), timeoutSeconds };
  const cache = new QueryCache(cacheSize);
  const limit = pLimit(concurrency);
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);

  /** One request with its retries. No place of `limit` is held while it waits for the next attempt. */
  const request = async (queries: readonly string[], topK: number, progress: Progress): Promise<Candidate[][]> => {
    let attempts = 0;
    let notBefore = 0;
    const attempt = async () => {
      await pause(notBefore - performance.now(), closing.signal);
      return limit(async () => {
        closing.signal.throwIfAborted();
        if (progress.outage && !progress.answered) throw new RetrieveFailure("unusable", progress.outage.message);
        attempts++;
        return retrieveOnce(endpoint, queries, topK, closing.signal);
      });
    };
    try {
      const found = await pRetry(attempt, {
        retries,
        minTimeout: backoffMilliseconds,
        maxTimeout: longestBackoffMilliseconds,
        randomize: true,
        signal: closing.signal,
        onFailedAttempt: ({ error }) => {
          if (error instanceof RetrieveFailure) notBefore = performance.now() + error.waitSeconds * 1000;
        },
        // Where one of several queries may be at fault, a second try is enough: smaller requests follow.
        shouldRetry: ({ error, retriesConsumed }) =>
          error instanceof RetrieveFailure && error.isTransient && (retriesConsumed < 1 || queries.length === 1 || !error.mayBeOneQuery),
      });
      progress.answered = true;
      return found;
    } catch (error) {
      if (!(error instanceof RetrieveFailure)) throw error;
      if (error.kind === "unreachable") progress.outage = error;
      const times = `${attempts} ${attempts === 1 ? "attempt" : "attempts"}`;
      throw new RetrieveFailure(error.kind, `retrieval server ${endpoint.address} failed after ${times}: ${error.message}`, 0, {
        cause: error,
      });
    }
  };

  const outcomes = async (queries: readonly string[], topK: number, progress: Progress): Promise<PromiseSettledResult<Candidate[]>[]> => {
    try {
      const found = await request(queries, topK, progress);
      return found.map((value) => ({ status: "fulfilled", value }));
    } catch (error) {
      if (!(error instanceof RetrieveFailure)) throw error;
      if (queries.length > 1 && error.mayBeOneQuery) {
        const half = Math.ceil(queries.length / 2);
        const parts = [queries.slice(0, half), queries.slice(half)];
        return (await Promise.all(parts.map((part) => outcomes(part, topK, progress)))).flat();
      }
      return queries.map(() => ({ status: "rejected", reason: new InfrastructureError(error.message, { cause: error }) }));
    }
  };

  const searchEach = async (queries: readonly string[], topK: number): Promise<PromiseSettledResult<Candidate[]>[]> => {
    if (!Number.isInteger(topK) || topK < 1) throw new RangeError(`topK must be a positive integer, got ${topK}`);
    const known = new Map<string, PromiseSettledResult<Candidate[]>>();
    const missing: string[] = [];
    for (const query of new Set(queries)) {
      const value = cache.get(query, topK);
      if (value) known.set(query, { status: "fulfilled", value: [...value] });
      else missing.push(query);
    }
    const progress: Progress = { answered: false };
    const batches = Array.from({ length: Math.ceil(missing.length / batchQueries) }, (_, index) =>
      missing.slice(index * batchQueries, (index + 1) * batchQueries),
    );
    const found = (await Promise.all(batches.map((batch) => outcomes(batch, topK, progress)))).flat();
    for (const [index, query] of missing.entries()) {
      const outcome = found[index] as PromiseSettledResult<Candidate[]>;
      known.set(query, outcome);
      if (outcome.status === "fulfilled") cache.set(query, topK, outcome.value);
    }
    return queries.map((query) => {
      const outcome = known.get(query) as PromiseSettledResult<Candidate[]>;
      return outcome.status === "fulfilled" ? { status: "fulfilled", value: [...outcome.value] } : outcome;
    });
  };

  return {
    name: `remote ${endpoint.address.origin}`,
    searchEach,
    async search(queries, topK) {
      return (await searchEach(queries, topK)).map((outcome) => {
        if (outcome.status === "rejected") throw outcome.reason;
        return outcome.value;
      });
    },
    async close() {
      closing.abort(new RetrieveFailure("unusable", "the client was closed"));
    },
  };
}

function readToken(variable: string | undefined): string | undefined {
  if (variable === undefined) return undefined;
  const token = readKey(variable);
  if (token !== undefined) return token;
  throw new ConfigError(`retrieval.remote.tokenVariable: the environment variable ${variable} is not set: put the server's token into it`);
}
