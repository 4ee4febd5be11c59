import { setMaxListeners } from "node:events";
import pLimit from "p-limit";
import type { EmbedderConfig } from "../../config.ts";
import { failureBehind } from "../../endpoint/endpoint-failure.ts";
import { linkedAbort } from "../../endpoint/linked-abort.ts";
import { withRetries } from "../../endpoint/with-retries.ts";
import { InfrastructureError } from "../../errors.ts";
import type { Embedder, EmbedderIdentity } from "./embedder.ts";
import { encoderFamily, prefixed } from "./encoder-families.ts";
import { type EmbeddingFormat, EndpointClient } from "./endpoint-client.ts";
import { scaleToUnit } from "./pool-vectors.ts";

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
      const status = failureBehind(error)?.status;
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
  private request(texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]> {
    const attempt = () => this.client.embed(texts, { format: this.format, dimensions: this.dimensions || undefined, signal });
    const { backoffMilliseconds } = this;
    return withRetries(attempt, {
      retries: this.config.retries,
      backoffMilliseconds,
      server: `embedding server ${this.client.address}`,
      signal,
    });
  }
}
