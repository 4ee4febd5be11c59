import OpenAI, { APIConnectionError, APIError } from "openai";
import type { EmbedderConfig } from "../../config.ts";
import { ConfigError } from "../../errors.ts";
import { MalformedEmbeddingsError, readEmbeddings } from "./endpoint-answer.ts";
import { linkedAbort } from "./linked-abort.ts";

/** How vectors are written in an answer. */
export type EmbeddingFormat = "base64" | "float";

/** One failed request: the reason alone, without the key. */
export class EndpointFailure extends Error {
  override readonly name = "EndpointFailure";
  constructor(
    message: string,
    /** Whether the same request may succeed later. */
    readonly isTransient: boolean,
    /** HTTP status; undefined: there was no answer. */
    readonly status?: number,
    /** What the server's Retry-After asks for. */
    readonly waitSeconds = 0,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Longest wait that a server may ask for. */
const mostWaitSeconds = 60;

/** An OpenAI-compatible `/v1/embeddings` (TEI, vLLM, Infinity, OpenAI), one request at a time, without retries. */
export class EndpointClient {
  readonly address: string;
  private readonly client: OpenAI;
  private readonly key: string | undefined;

  /** @throws ConfigError for an address or a key that can't be used. */
  constructor(private readonly config: EmbedderConfig) {
    this.address = baseAddress(config.url);
    this.key = readKey(config.apiKeyVariable);
    this.client = new OpenAI({
      baseURL: this.address,
      apiKey: this.key ?? "none",
      // Without a key nothing is sent that looks like one, and nothing that OPENAI_* variables say of another service.
      ...(this.key === undefined ? { defaultHeaders: { Authorization: null } } : {}),
      organization: null,
      project: null,
      maxRetries: 0,
      // The time limit here covers the reading of the answer too; the client's own one only its head.
      timeout: 2 * this.timeLimit,
      logLevel: "off",
    });
  }

  private get timeLimit(): number {
    return this.config.timeoutSeconds * 1000;
  }

  /**
   * @param dimensions Length of the vectors; undefined: not known yet.
   * @throws EndpointFailure; where `signal` aborts, its reason.
   */
  async embed(
    texts: readonly string[],
    {
      format,
      dimensions,
      signal,
    }: { readonly format: EmbeddingFormat; readonly dimensions?: number | undefined; readonly signal: AbortSignal },
  ): Promise<Float32Array[]> {
    signal.throwIfAborted();
    const { controller, unlink } = linkedAbort([signal]);
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      controller.abort();
    }, this.timeLimit);
    try {
      const model = this.config.model ?? "";
      // The format is always named: left out, the client takes every answer for base64, which not every server writes.
      const answer = await this.client.embeddings.create(
        { model, input: [...texts], encoding_format: format },
        { signal: controller.signal },
      );
      return readEmbeddings(answer, texts.length, dimensions);
    } catch (error) {
      signal.throwIfAborted();
      if (timedOut) throw new EndpointFailure(`no answer within ${this.config.timeoutSeconds} s`, true);
      throw this.failure(error);
    } finally {
      clearTimeout(timer);
      unlink();
    }
  }

  private failure(error: unknown): EndpointFailure {
    if (error instanceof MalformedEmbeddingsError) return new EndpointFailure(`malformed answer: ${error.message}`, false, 200);
    if (error instanceof SyntaxError)
      return new EndpointFailure(`malformed answer: not JSON (${this.withoutKey(error.message)})`, false, 200);
    if (error instanceof APIError && typeof error.status === "number") {
      const wait = Number(error.headers?.get("retry-after") ?? 0);
      const waitSeconds = Number.isFinite(wait) ? Math.min(mostWaitSeconds, Math.max(0, wait)) : 0;
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
    const { apiKeyVariable } = this.config;
    if (status === 401 || status === 403) {
      return this.key === undefined
        ? `put the server's key into the environment variable ${apiKeyVariable}, or name another in retrieval.embedder.apiKeyVariable`
        : `the key in the environment variable ${apiKeyVariable} is not accepted`;
    }
    if (status === 404) return "check retrieval.embedder.url (it usually ends with /v1) and retrieval.embedder.model";
    if (status === 413 || status === 422)
      return "perhaps a text too long, or too many at once: let the server truncate (TEI: --auto-truncate), or lower retrieval.embedder.batchTexts";
    return undefined;
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

function baseAddress(url: string | undefined): string {
  const example = "e.g. http://127.0.0.1:8080/v1";
  if (url === undefined || !URL.canParse(url))
    throw new ConfigError(`retrieval.embedder.url: expected an address, ${example}, got ${url ?? "none"}`);
  const address = new URL(url);
  if (address.protocol !== "http:" && address.protocol !== "https:")
    throw new ConfigError(`retrieval.embedder.url: expected http:// or https://, ${example}, got ${address.protocol}//`);
  if (address.username !== "" || address.password !== "")
    throw new ConfigError("retrieval.embedder.url: leave user and password out; retrieval.embedder.apiKeyVariable is for secrets");
  if (address.search !== "" || address.hash !== "") throw new ConfigError(`retrieval.embedder.url: leave ? and # out, ${example}`);
  address.pathname = address.pathname.replace(/\/+$/, "").replace(/\/embeddings$/, "");
  return address.href.replace(/\/$/, "");
}

function readKey(variable: string): string | undefined {
  const key = process.env[variable]?.trim();
  if (key === undefined || key === "") return undefined;
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new ConfigError(`the key in the environment variable ${variable} holds characters that no HTTP header may have`);
  return key;
}
