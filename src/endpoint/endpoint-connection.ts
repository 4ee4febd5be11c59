import OpenAI, { APIConnectionError, APIError } from "openai";
import { baseAddress, readKey } from "./endpoint-address.ts";
import { EndpointFailure, MalformedAnswerError } from "./endpoint-failure.ts";
import { linkedAbort } from "./linked-abort.ts";
import { retryAfterSeconds } from "./retry-after.ts";

/** How a server is reached. */
export interface ConnectionSettings {
  /** Base address, usually ending with /v1. */
  readonly url: string | undefined;
  /** Environment variable that holds the key, where one is needed. */
  readonly apiKeyVariable: string;
  /** Time limit of one request, the reading of the answer included. */
  readonly timeoutSeconds: number;
  /** Where in the configuration these settings stand, e.g. retrieval.embedder. */
  readonly section: string;
  /** What to do about a status, where more is known than this module tells. */
  readonly advice?: (status: number) => string | undefined;
}

/** What makes a request with the client, and reads its answer. */
export interface EndpointRequest<Result> {
  readonly send: (client: OpenAI, options: { readonly signal: AbortSignal }) => Promise<unknown>;
  /** @throws MalformedAnswerError */
  readonly read: (answer: unknown) => Result;
  readonly signal: AbortSignal;
}

/** Longest wait that a server may ask for. */
const mostWaitSeconds = 60;

/** An OpenAI-compatible server, one request at a time, without retries. The key stands in no message. */
export class EndpointConnection {
  readonly address: string;
  private readonly client: OpenAI;
  private readonly key: string | undefined;

  /** @throws ConfigError for an address or a key that can't be used. */
  constructor(private readonly settings: ConnectionSettings) {
    this.address = baseAddress(settings.url, settings.section);
    this.key = readKey(settings.apiKeyVariable);
    this.client = new OpenAI({
      baseURL: this.address,
      apiKey: this.key ?? "none",
      // Without a key nothing is sent that looks like one, and nothing that OPENAI_* variables say of another service.
      ...(this.key === undefined ? { defaultHeaders: { Authorization: null } } : {}),
      organization: null,
      project: null,
      maxRetries: 0,
      // The time limit here covers the reading of the answer too; the client's own one only its head.
      timeout: 2 * settings.timeoutSeconds * 1000,
      logLevel: "off",
    });
  }

  /** @throws EndpointFailure; where `signal` aborts, its reason. */
  async request<Result>({ send, read, signal }: EndpointRequest<Result>): Promise<Result> {
    signal.throwIfAborted();
    const { controller, unlink } = linkedAbort([signal]);
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      controller.abort();
    }, this.settings.timeoutSeconds * 1000);
    try {
      return read(await send(this.client, { signal: controller.signal }));
    } catch (error) {
      signal.throwIfAborted();
      if (timedOut) throw new EndpointFailure(`no answer within ${this.settings.timeoutSeconds} s`, true);
      throw this.failure(error);
    } finally {
      clearTimeout(timer);
      unlink();
    }
  }

  private failure(error: unknown): EndpointFailure {
    if (error instanceof MalformedAnswerError)
      return new EndpointFailure(`malformed answer: ${this.withoutKey(error.message)}`, false, 200);
    if (error instanceof SyntaxError)
      return new EndpointFailure(`malformed answer: not JSON (${this.withoutKey(error.message)})`, false, 200);
    if (error instanceof APIError && typeof error.status === "number") {
      const waitSeconds = retryAfterSeconds(error.headers?.get("retry-after"), mostWaitSeconds);
      const reason = this.withoutKey(error.message.replace(/^\d+ /, ""));
      const fix = this.fix(error.status);
      const message = `answered ${error.status}: ${reason.slice(0, 500)}${fix === undefined ? "" : `: ${fix}`}`;
      return new EndpointFailure(message, [408, 425, 429].includes(error.status) || error.status >= 500, error.status, waitSeconds);
    }
    // The client's own message, "Connection error.", says less than its cause.
    const reason = error instanceof APIConnectionError ? (error.cause ?? error) : error;
    return new EndpointFailure(`no connection (${this.withoutKey(causes(reason))})`, true);
  }

  private fix(status: number): string | undefined {
    const { apiKeyVariable, section, advice } = this.settings;
    if (status === 401 || status === 403) {
      return this.key === undefined
        ? `put the server's key into the environment variable ${apiKeyVariable}, or name another in ${section}.apiKeyVariable`
        : `the key in the environment variable ${apiKeyVariable} is not accepted`;
    }
    if (status === 404) return `check ${section}.url (it usually ends with /v1) and ${section}.model`;
    return advice?.(status);
  }

  private withoutKey(text: string): string {
    return this.key === undefined ? text : text.replaceAll(this.key, "***");
  }
}

/** Messages of an error and what caused it: "fetch failed" alone says nothing. */
function causes(error: unknown): string {
  const messages: string[] = [];
  for (let one = error; one instanceof Error && messages.length < 5; one = one.cause) {
    const code = (one as NodeJS.ErrnoException).code;
    messages.push(one.message || code || one.name);
  }
  return [...new Set(messages)].join(": ");
}
