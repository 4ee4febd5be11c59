import { setTimeout as sleep } from "node:timers/promises";
import pRetry from "p-retry";
import { InfrastructureError } from "../errors.ts";
import { EndpointFailure } from "./endpoint-failure.ts";

/** Longest wait between two attempts of our own choosing. */
const longestBackoffMilliseconds = 30_000;

/** How often to try, and what to call the server in errors. */
export interface RetrySettings {
  /** Further attempts after transient failures. */
  readonly retries: number;
  /** First wait between attempts, doubled each time and stretched by a random factor in [1, 2). */
  readonly backoffMilliseconds: number;
  /** E.g. `embedding server http://127.0.0.1:8080/v1`. */
  readonly server: string;
  readonly signal: AbortSignal;
}

/**
 * Tries until an attempt succeeds, fails for good or was the last. A server's Retry-After is obeyed on top of the waits of our own.
 * @throws InfrastructureError naming server, attempts and the last reason, caused by the EndpointFailure; where `signal` aborts, its reason.
 */
export async function withRetries<Result>(attempt: () => Promise<Result>, settings: RetrySettings): Promise<Result> {
  const { retries, backoffMilliseconds, server, signal } = settings;
  let attempts = 0;
  try {
    return await pRetry(
      () => {
        attempts++;
        return attempt();
      },
      {
        retries,
        minTimeout: backoffMilliseconds,
        maxTimeout: longestBackoffMilliseconds,
        randomize: true,
        signal,
        shouldRetry: ({ error }) => error instanceof EndpointFailure && error.isTransient,
        onFailedAttempt: async ({ error, retriesLeft }) => {
          if (error instanceof EndpointFailure && error.isTransient && retriesLeft > 0) {
            await sleep(error.waitSeconds * 1000, undefined, { signal }).catch(() => undefined);
          }
        },
      },
    );
  } catch (error) {
    if (!(error instanceof EndpointFailure)) throw error;
    const times = `${attempts} ${attempts === 1 ? "attempt" : "attempts"}`;
    throw new InfrastructureError(`${server} failed after ${times}: ${error.message}`, { cause: error });
  }
}
