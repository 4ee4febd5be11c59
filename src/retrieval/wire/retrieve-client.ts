import { setTimeout as sleep } from "node:timers/promises";
import { MalformedAnswerError } from "../../endpoint/endpoint-failure.ts";
import { linkedAbort } from "../../endpoint/linked-abort.ts";
import { ConfigError } from "../../errors.ts";
import type { Candidate } from "../../types.ts";
import { connectionFailure, failureOf, RetrieveFailure } from "./retrieve-failure.ts";
import { fromWire, type RetrieveRequest } from "./retrieve-wire.ts";

/** Where a retrieval server is, and how to talk to it. */
export interface RetrieveEndpoint {
  /** Address of `/retrieve`; never holds a secret. */
  readonly address: URL;
  /** Bearer token; never shown. */
  readonly token?: string | undefined;
  /** Time limit of one request, the reading of its answer included. */
  readonly timeoutSeconds: number;
}

/**
 * The address of `/retrieve` of the server at `url`, which may end with a slash or name `/retrieve` itself.
 * @throws ConfigError when it is no http(s) address, or holds a password.
 */
export function retrieveAddress(url: string): URL {
  const example = "e.g. http://127.0.0.1:8000";
  if (!URL.canParse(url)) throw new ConfigError(`retrieval.remote.url: expected an address, ${example}, got ${JSON.stringify(url)}`);
  const address = new URL(url);
  if (address.protocol !== "http:" && address.protocol !== "https:") {
    throw new ConfigError(`retrieval.remote.url: expected http:// or https://, ${example}, got ${address.protocol}//`);
  }
  if (address.username !== "" || address.password !== "") {
    throw new ConfigError("retrieval.remote.url: leave user and password out; retrieval.remote.tokenVariable is for secrets");
  }
  if (address.search !== "" || address.hash !== "") throw new ConfigError(`retrieval.remote.url: leave ? and # out, ${example}`);
  const path = address.pathname.replace(/\/+$/, "");
  address.pathname = path.endsWith("/retrieve") ? path : `${path}/retrieve`;
  return address;
}

/** No answer is that large: 65,536 passages of 100 words take about 50 MiB. */
const mostAnswerBytes = 256 * 1024 * 1024;

/**
 * One request, without a retry. `signal` ends it early, with the signal's reason.
 * @throws RetrieveFailure for everything that can go wrong with it.
 */
export async function retrieveOnce(
  endpoint: RetrieveEndpoint,
  queries: readonly string[],
  topK: number,
  signal: AbortSignal,
): Promise<Candidate[][]> {
  const request: RetrieveRequest = { queries, topk: topK, return_scores: true };
  const { status, retryAfter, body } = await post(endpoint, JSON.stringify(request), signal);
  if (status !== 200) throw failureOf(status, retryAfter, withoutToken(body, endpoint.token));
  try {
    return fromWire(JSON.parse(body), queries.length, topK);
  } catch (error) {
    if (error instanceof MalformedAnswerError)
      throw new RetrieveFailure("unusable", `malformed answer: ${error.message}`, 0, { cause: error });
    const start = JSON.stringify(withoutToken(body.slice(0, 80), endpoint.token));
    throw new RetrieveFailure("unusable", `malformed answer: not JSON, begins with ${start}`, 0, { cause: error });
  }
}

async function post(
  { address, token, timeoutSeconds }: RetrieveEndpoint,
  body: string,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly retryAfter: string | null; readonly body: string }> {
  const { controller, unlink } = linkedAbort([signal]);
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    controller.abort();
  }, timeoutSeconds * 1000);
  try {
    const response = await fetch(address, {
      method: "POST",
      headers: { "content-type": "application/json", ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
      body,
      redirect: "manual",
      signal: controller.signal,
    });
    const location = response.headers.get("location");
    const text =
      location === null ? await boundedText(response) : `redirects to ${location}: name the final address in retrieval.remote.url`;
    return { status: response.status, retryAfter: response.headers.get("retry-after"), body: text };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof RetrieveFailure) throw error;
    throw timedOut
      ? new RetrieveFailure("unreachable", `no answer within ${timeoutSeconds} s`, 0, { cause: error })
      : connectionFailure(error);
  } finally {
    clearTimeout(timer);
    unlink();
  }
}

/** @throws RetrieveFailure as soon as the answer turns out to be too large to be one: it would fill the memory. */
async function boundedText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > mostAnswerBytes) throw new RetrieveFailure("unusable", "malformed answer: of more than 256 MiB", 0);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function withoutToken(text: string, token: string | undefined): string {
  return token === undefined ? text : text.replaceAll(token, "***");
}

/** Waits, unless `signal` ends it: then it returns at once. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch(() => undefined);
}
