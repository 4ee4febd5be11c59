import { setTimeout as sleep } from "node:timers/promises";
import pRetry from "p-retry";
import { linkedAbort } from "../../endpoint/linked-abort.ts";
import { ConfigError, InfrastructureError } from "../../errors.ts";
import { version } from "../../files/version.ts";
import { connectionFailure, failureOf, HubFailure } from "./hub-failure.ts";
import type { Repository } from "./repository.ts";
import type { HubSettings } from "./settings.ts";

/** Requests about one repository. */
export interface HubConnection {
  readonly settings: HubSettings;
  readonly repository: Repository;
  readonly signal: AbortSignal;
  /** Told of every failure that is tried again. */
  readonly onRetry: (reason: string) => void;
  /** First wait between two tries; it doubles each time. */
  readonly backoffMilliseconds: number;
}

const retries = 5;
const longestBackoffMilliseconds = 30_000;
const answerSeconds = 60;

/** The message of a repository that isn't there, for callers that know of another meaning. */
export class AbsentRepositoryError extends ConfigError {}

/**
 * One request, without a retry; redirects are followed, and another host never sees the token.
 * @throws HubFailure unless the answer is a success.
 */
export async function requestOnce(
  { settings, repository }: HubConnection,
  url: string,
  { headers, signal }: { readonly headers?: Readonly<Record<string, string>>; readonly signal: AbortSignal },
): Promise<Response> {
  const isHub = new URL(url).origin === new URL(settings.endpoint).origin;
  const authorization = settings.token === undefined || !isHub ? undefined : { authorization: `Bearer ${settings.token}` };
  let response: Response;
  try {
    response = await fetch(url, { headers: { "user-agent": `cosearch/${version}`, ...headers, ...authorization }, signal });
  } catch (error) {
    signal.throwIfAborted();
    throw connectionFailure(error, settings);
  }
  if (!response.ok) throw await failureOf(response, repository, settings);
  return response;
}

/**
 * Tries a task again, after growing waits, while it fails for a reason that may pass. `hasProgressed`: whether the last try got so far
 * that it shouldn't count.
 * @throws ConfigError (AbsentRepositoryError where there is no such repository) when the Hub refuses; InfrastructureError when the
 * tries are used up; the signal's reason when it ends the task.
 */
export async function withRetries<Result>(
  { settings, repository, signal, onRetry, backoffMilliseconds }: HubConnection,
  task: () => Promise<Result>,
  hasProgressed: () => boolean = () => false,
): Promise<Result> {
  let tries = 0;
  const counted = () => {
    tries++;
    return task();
  };
  try {
    return await pRetry(counted, {
      retries,
      minTimeout: backoffMilliseconds,
      maxTimeout: longestBackoffMilliseconds,
      randomize: true,
      signal,
      shouldConsumeRetry: () => !hasProgressed(),
      async onFailedAttempt({ error, retriesLeft }) {
        if (!(error instanceof HubFailure) || !error.about.isTransient || retriesLeft === 0) return;
        onRetry(error.message);
        await sleep((error.about.waitSeconds ?? 0) * 1000, undefined, { signal });
      },
      shouldRetry: ({ error }) => error instanceof HubFailure && error.about.isTransient,
    });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof HubFailure)) throw error;
    if (error.about.isAbsent === true) throw new AbsentRepositoryError(error.message, { cause: error });
    if (!error.about.isTransient) throw new ConfigError(error.message, { cause: error });
    const mirror = `a mirror is named by HF_ENDPOINT, a model or data set may also be copied into ${settings.cache} or named by its path`;
    const advice = `what has come is kept, the same command goes on; ${mirror}`;
    throw new InfrastructureError(`${repository.name}: ${error.message}, tried ${tries} times: ${advice}`, { cause: error });
  }
}

/** `fetch` for the Hub's JSON: with the token, a time limit and retries, its answer wholly read. */
export function patientFetch(connection: HubConnection): typeof fetch {
  return (input) =>
    withRetries(connection, async () => {
      const { controller, unlink } = linkedAbort([connection.signal]);
      const { signal } = controller;
      const limit = setTimeout(() => controller.abort(), answerSeconds * 1000);
      try {
        const response = await requestOnce(connection, String(input), { headers: { accept: "application/json" }, signal });
        const body = await response.text().catch((error: unknown) => {
          throw connectionFailure(error, connection.settings);
        });
        return new Response(body, { status: response.status, headers: response.headers });
      } catch (error) {
        if (!signal.aborted || connection.signal.aborted) throw error;
        throw connectionFailure(new Error(`no answer within ${answerSeconds} s`), connection.settings);
      } finally {
        clearTimeout(limit);
        unlink();
      }
    });
}
