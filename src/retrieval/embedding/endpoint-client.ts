import type { EmbedderConfig } from "../../config.ts";
import { EndpointConnection } from "../../endpoint/endpoint-connection.ts";
import { readEmbeddings } from "./endpoint-answer.ts";

/** How vectors are written in an answer. */
export type EmbeddingFormat = "base64" | "float";

/** An OpenAI-compatible `/v1/embeddings` (TEI, vLLM, Infinity, OpenAI), one request at a time, without retries. */
export class EndpointClient {
  readonly address: string;
  private readonly connection: EndpointConnection;
  private readonly model: string;

  /** @throws ConfigError for an address or a key that can't be used. */
  constructor({ url, apiKeyVariable, timeoutSeconds, model = "" }: EmbedderConfig) {
    this.model = model;
    this.connection = new EndpointConnection({ url, apiKeyVariable, timeoutSeconds, section: "retrieval.embedder", advice });
    this.address = this.connection.address;
  }

  /**
   * @param dimensions Length of the vectors; undefined: not known yet.
   * @throws EndpointFailure; where `signal` aborts, its reason.
   */
  embed(
    texts: readonly string[],
    {
      format,
      dimensions,
      signal,
    }: { readonly format: EmbeddingFormat; readonly dimensions?: number | undefined; readonly signal: AbortSignal },
  ): Promise<Float32Array[]> {
    return this.connection.request({
      // The format is always named: left out, the client takes every answer for base64, which not every server writes.
      send: (client, options) => client.embeddings.create({ model: this.model, input: [...texts], encoding_format: format }, options),
      read: (answer) => readEmbeddings(answer, texts.length, dimensions),
      signal,
    });
  }
}

function advice(status: number): string | undefined {
  return status === 413 || status === 422
    ? "perhaps a text too long, or too many at once: let the server truncate (TEI: --auto-truncate), or lower retrieval.embedder.batchTexts"
    : undefined;
}
