import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import pLimit from "p-limit";
import pRetry from "p-retry";
import type { EmbedderConfig } from "../../config.ts";
import { InfrastructureError } from "../../errors.ts";
import type { Embedder, EmbedderIdentity } from "./embedder.ts";
import { encoderFamily, prefixed } from "./encoder-families.ts";
import { type EmbeddingFormat, EndpointClient, EndpointFailure } from "./endpoint-client.ts";
import { linkedAbort } from "./linked-abort.ts";
import { scaleToUnit } from "./pool-vectors.ts";

/** Longest wait between two attempts of our own choosing. */
const longestBackoffMilliseconds = 30_000;

/** What tests shorten. */
export interface EndpointTiming {
  /** First wait between attempts, doubled each time and stretched by a random factor in [1, 2). Default 500. */
  readonly backoffMilliseconds?: number;
}

/**
 * Embeds through an OpenAI-compatible `/v1/embeddings`; one request, made here, tells the dimensions. The key, where one is needed, is in
 * the environment variable `apiKeyVariable`. Prefixes not configured are those known of the model's name; the server must not add its own.
 * @throws ConfigError for an address or key that can't be used; InfrastructureError when the server doesn't answer as it should.
 */
export async function openEndpointEmbedder(config: EmbedderConfig, { backoffMilliseconds = 500 }: EndpointTiming = {}): Promise<Embedder> {
  const embedder = new EndpointEmbedder(config, new EndpointClient(config), backoffMilliseconds);
  await embedder.probe();
  return embedder;
}

class EndpointEmbedder implements Embedder {
  readonly name: string;
  dimensions = 0;
  private format: EmbeddingFormat = "base64";
  private readonly prefixes: { readonly queryPrefix: string; readonly documentPrefix: string };
  private readonly normalize: boolean;
  private readonly limit;
  private readonly closing = new AbortController();

  constructor(
    private readonly config: EmbedderConfig,
    private readonly client: EndpointClient,
    private readonly backoffMilliseconds: number,
  ) {
    this.name = config.model ?? "";
    const { queryPrefix, documentPrefix } = encoderFamily(this.name);
    this.prefixes = { queryPrefix: config.queryPrefix ?? queryPrefix, documentPrefix: config.documentPrefix ?? documentPrefix };
    this.normalize = config.normalize ?? true;
    this.limit = pLimit(config.concurrency);
    setMaxListeners(0, this.closing.signal);
  }

  get identity(): EmbedderIdentity {
    return { kind: "endpoint", model: this.name, dimensions: this.dimensions, ...this.prefixes, normalize: this.normalize };
  }

  /** Learns the dimensions, and whether the server writes base64. */
  async probe(): Promise<void> {
    const probe = () => this.request(["probe"], this.closing.signal);
    let vector: Float32Array | undefined;
    try {
      [vector] = await probe();
    } catch (error) {
      const status =
        (error as InfrastructureError).cause instanceof EndpointFailure ? ((error as Error).cause as EndpointFailure).status : undefined;
      if (status !== 400 && status !== 422) throw error;
      this.format = "float";
      [vector] = await probe();
    }
    this.dimensions = vector?.length ?? 0;
  }

  embedQueries(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> {
    return this.embed(texts, this.prefixes.queryPrefix, signal);
  }

  embedDocuments(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> {
    return this.embed(texts, this.prefixes.documentPrefix, signal);
  }

  async close(): Promise<void> {
    this.closing.abort(new InfrastructureError("the embedder was closed"));
  }

  /** The first request that fails for good ends the others. Texts without content are not sent: servers refuse them. */
  private async embed(texts: readonly string[], prefix: string, signal: AbortSignal | undefined): Promise<Float32Array[]> {
    signal?.throwIfAborted();
    this.closing.signal.throwIfAborted();
    const vectors: Float32Array[] = texts.map(() => new Float32Array(this.dimensions));
    const rows = texts.flatMap((text, row) => (text.trim() === "" ? [] : [row]));
    const { batchTexts } = this.config;
    const batches = Array.from({ length: Math.ceil(rows.length / batchTexts) }, (_, index) =>
      rows.slice(index * batchTexts, (index + 1) * batchTexts),
    );
    const { controller, unlink } = linkedAbort([signal, this.closing.signal]);
    setMaxListeners(0, controller.signal);
    try {
      await Promise.all(
        batches.map((batch) =>
          this.limit(async () => {
            const found = await this.request(
              batch.map((row) => prefixed(prefix, texts[row] as string)),
              controller.signal,
            );
            batch.forEach((row, index) => {
              const vector = found[index] as Float32Array;
              if (this.normalize) scaleToUnit(vector);
              vectors[row] = vector;
            });
          }),
        ),
      );
      return vectors;
    } catch (error) {
      controller.abort(error);
      throw error;
    } finally {
      unlink();
    }
  }

  /** One request with its retries. */
  private async request(texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]> {
    let attempts = 0;
    const attempt = () => {
      attempts++;
      return this.client.embed(texts, { format: this.format, dimensions: this.dimensions || undefined, signal });
    };
    try {
      return await pRetry(attempt, {
        retries: this.config.retries,
        minTimeout: this.backoffMilliseconds,
        maxTimeout: longestBackoffMilliseconds,
        randomize: true,
        signal,
        shouldRetry: ({ error }) => error instanceof EndpointFailure && error.isTransient,
        onFailedAttempt: async ({ error, retriesLeft }) => {
          if (error instanceof EndpointFailure && error.isTransient && retriesLeft > 0) {
            await sleep(error.waitSeconds * 1000, undefined, { signal }).catch(() => undefined);
          }
        },
      });
    } catch (error) {
      if (!(error instanceof EndpointFailure)) throw error;
      const times = `${attempts} ${attempts === 1 ? "attempt" : "attempts"}`;
      throw new InfrastructureError(`embedding server ${this.client.address} failed after ${times}: ${error.message}`, { cause: error });
    }
  }
}
