import { setMaxListeners } from "node:events";
import pLimit from "p-limit";
import { EndpointConnection } from "../../endpoint/endpoint-connection.ts";
import { failureBehind } from "../../endpoint/endpoint-failure.ts";
import { linkedAbort } from "../../endpoint/linked-abort.ts";
import { withRetries } from "../../endpoint/with-retries.ts";
import { InfrastructureError, PromptTooLongError } from "../../errors.ts";
import { deriveSeed } from "../../rng.ts";
import type { SampledTokens } from "../../types.ts";
import type { SampleRequest, Sampler } from "../engine.ts";
import type { Renderer } from "../renderer.ts";
import { roomAfterOverflow } from "./context-overflow.ts";
import { type FinishedOutput, finishedOutput } from "./finished-output.ts";
import { describeModels, type ModelList, readModels } from "./model-list.ts";
import { PieceRenderer } from "./piece-renderer.ts";
import { RefusedParameters, type RequestBody } from "./request-body.ts";
import { checkRequest } from "./request-check.ts";
import { chatStyle, completionsStyle, type ServerStyle } from "./server-style.ts";

/** A server and how to speak with it. */
export interface EndpointSamplerOptions {
  /** Base address, usually ending with /v1. */
  readonly url: string;
  /** The name that the server knows. */
  readonly model: string;
  /** A tokenizer's: completions of token ids; a `PieceRenderer`: chat. */
  readonly renderer: Renderer;
  /** Default OPENAI_API_KEY. */
  readonly apiKeyVariable?: string;
  /** Longest sequence; in chat, where tokens aren't seen, the server alone decides. */
  readonly contextTokens?: number | undefined;
  /** Time limit of one request, from sending to the end of the answer. Default 300. */
  readonly timeoutSeconds?: number;
  /** Further attempts after 429, 5xx, timeouts and connection errors. Default 5. */
  readonly retries?: number;
  /** Most requests at once. Default 16. */
  readonly concurrency?: number;
  /** Chat: documents are sent in messages of the role tool; else as the user's. Default false. */
  readonly toolRole?: boolean;
  /** Further parameters of every request, e.g. {"top_k": -1}. */
  readonly extraBody?: RequestBody;
  /** The configuration's section, named in errors. Default endpoint. */
  readonly section?: string;
  /** First wait between attempts, doubled each time and stretched by a random factor in [1, 2). Default 500. */
  readonly backoffMilliseconds?: number;
  /** Told once of every parameter that the server refuses and that outputs may depend on. */
  readonly onNotice?: ((message: string) => void) | undefined;
}

/**
 * Samples from an OpenAI-compatible server (vLLM, SGLang, llama.cpp, Ollama, hosted ones). For inference only: log-probabilities are those
 * that the server tells (of most servers: before temperature and top-p are applied), an empty list where it tells none. Every sample is a
 * request of its own, with its own seed; servers that ignore seeds may answer the same request differently.
 * `sample` throws PromptTooLongError where the server says that the context is too small (one that cuts prompts silently, as Ollama does
 * beyond its num_ctx, can't be told from one that doesn't), else InfrastructureError naming address, attempts and the last reason.
 */
export class EndpointSampler implements Sampler {
  readonly address: string;
  private readonly connection: EndpointConnection;
  private readonly refused: RefusedParameters;
  private readonly limit;
  private readonly closing = new AbortController();
  private readonly section: string;
  private readonly style: ServerStyle;

  /** @throws ConfigError for an address or a key that can't be used. */
  constructor(private readonly options: EndpointSamplerOptions) {
    const { url, apiKeyVariable = "OPENAI_API_KEY", timeoutSeconds = 300, section = "endpoint", renderer } = options;
    this.section = section;
    this.style = renderer instanceof PieceRenderer ? chatStyle(renderer, options.toolRole ?? false) : completionsStyle;
    const advice = (status: number) =>
      this.style.seesTokens && (status === 400 || status === 422)
        ? `if the server takes no token ids for a prompt, leave ${section}.tokenizer out: chat needs none`
        : undefined;
    this.connection = new EndpointConnection({ url, apiKeyVariable, timeoutSeconds, section, advice });
    this.address = this.connection.address;
    this.refused = new RefusedParameters((message) => options.onNotice?.(`${this.server}: ${message}`));
    this.limit = pLimit(options.concurrency ?? 16);
    setMaxListeners(0, this.closing.signal);
  }

  async sample(request: SampleRequest): Promise<SampledTokens[]> {
    request.signal?.throwIfAborted();
    this.closing.signal.throwIfAborted();
    checkRequest(request, this.section);
    const { controller, unlink } = linkedAbort([request.signal, this.closing.signal]);
    setMaxListeners(0, controller.signal);
    try {
      const indices = Array.from({ length: request.samples ?? 1 }, (_, index) => index);
      const outputs = await Promise.all(indices.map((index) => this.one(request, index, controller.signal)));
      return outputs.map((output) => ({ ...output, policyVersion: 0 }));
    } catch (error) {
      controller.abort(error);
      throw error;
    } finally {
      unlink();
    }
  }

  /** What the server says it serves: one request to /v1/models. @throws InfrastructureError when it can't be asked. */
  models(): Promise<ModelList> {
    const attempt = () =>
      this.connection.request({
        send: (client, options) => client.get("/models", options),
        read: readModels,
        signal: this.closing.signal,
      });
    return this.retried(attempt, this.closing.signal);
  }

  /** Ends what is under way: it fails, as does every later request. */
  async close(): Promise<void> {
    this.closing.abort(new InfrastructureError(`${this.server} was closed`));
  }

  private get server(): string {
    return `inference server ${this.address}`;
  }

  private retried<Result>(attempt: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    const { retries = 5, backoffMilliseconds = 500 } = this.options;
    return withRetries(() => this.limit(attempt), { retries, backoffMilliseconds, server: this.server, signal });
  }

  /** One output; a server that refuses a parameter, or the length, is asked again without. */
  private async one(request: SampleRequest, index: number, signal: AbortSignal): Promise<FinishedOutput> {
    let maxTokens = this.roomFor(request);
    for (;;) {
      const body = this.refused.fit(this.body(request, index, maxTokens));
      try {
        return await this.retried(() => this.send(body, request, signal), signal);
      } catch (error) {
        const failure = failureBehind(error);
        if (failure === undefined) throw error;
        const room = roomAfterOverflow(failure);
        if (room !== undefined && (room <= 0 || room >= maxTokens))
          throw new PromptTooLongError((error as Error).message, { cause: error });
        if (room !== undefined) maxTokens = room;
        else if (!this.refused.learn(failure, body)) throw await this.withModels(error as InfrastructureError, failure.status);
      }
    }
  }

  private send(body: RequestBody, { stop }: SampleRequest, signal: AbortSignal): Promise<FinishedOutput> {
    return this.connection.request({
      send: (client, options) => client.post(this.style.path, { ...options, body }),
      read: (answer) => finishedOutput(this.style.read(answer), stop, this.options.renderer),
      signal,
    });
  }

  private roomFor({ promptTokenIds, maxTokens }: SampleRequest): number {
    const { contextTokens } = this.options;
    if (contextTokens === undefined || !this.style.seesTokens) return maxTokens;
    if (promptTokenIds.length < contextTokens) return Math.min(maxTokens, contextTokens - promptTokenIds.length);
    throw new PromptTooLongError(
      `the prompt has ${promptTokenIds.length} tokens, the longest sequence of ${this.server} is ${contextTokens}: no room is left for an output`,
    );
  }

  private body(request: SampleRequest, index: number, maxTokens: number): RequestBody {
    const { temperature = 1, topP = 1, stop, seed } = request;
    return {
      ...this.options.extraBody,
      model: this.options.model,
      max_tokens: maxTokens,
      temperature,
      top_p: topP,
      // Some servers keep it in 32 bits, and take the largest for "by chance".
      seed: deriveSeed(seed, "sample", index) >>> 1,
      ...(stop?.strings?.length ? { stop: [...stop.strings], include_stop_str_in_output: true, no_stop_trim: true } : {}),
      ...this.style.body(request),
    };
  }

  /** A 404 is most often a wrong name: the error then tells the right ones. */
  private async withModels(error: InfrastructureError, status: number | undefined): Promise<InfrastructureError> {
    if (status !== 404) return error;
    const list = await this.models().catch(() => undefined);
    return list === undefined ? error : new InfrastructureError(`${error.message}; ${describeModels(list)}`, { cause: error.cause });
  }
}
