import type { EmbedderConfig } from "../../config.ts";
import { linkedAbort } from "../../endpoint/linked-abort.ts";
import { InfrastructureError } from "../../errors.ts";
import { startWorker } from "../../threads/start-worker.ts";
import { WorkerCalls } from "../../threads/worker-calls.ts";
import type { Embedder, EmbedderIdentity } from "./embedder.ts";
import type { EncodedTexts } from "./encoder.ts";
import { prefixed } from "./encoder-families.ts";
import { encoderFingerprint } from "./encoder-fingerprint.ts";
import { type EncoderSettings, readEncoderFolder } from "./encoder-folder.ts";
import type { EncoderCall, EncoderWorkerData, OpenedEncoder } from "./encoder-messages.ts";

/**
 * An encoder of the Hugging Face layout (E5, BGE, GTE, MiniLM, ...), run by onnxruntime in a worker thread.
 * @param folder The model's folder; see `readEncoderFolder`.
 * @throws ModelError for a folder that can't be used, ConfigError for settings that don't fit it.
 */
export async function openOnnxEmbedder(config: EmbedderConfig, folder: string): Promise<Embedder> {
  const settings = await readEncoderFolder(folder, config);
  const resources = { threads: config.threads, batchTokens: config.batchTokens };
  const worker = startWorker(import.meta.url, "encoder-worker", { settings, resources } satisfies EncoderWorkerData);
  const calls = new WorkerCalls(worker, "the encoder's thread");
  const [opened, fingerprint] = await Promise.allSettled([calls.started(), encoderFingerprint(settings)]);
  if (opened.status === "fulfilled" && fingerprint.status === "fulfilled") {
    return new OnnxEmbedder(calls, settings, opened.value as OpenedEncoder, fingerprint.value);
  }
  await worker.terminate();
  throw opened.status === "rejected" ? opened.reason : (fingerprint as PromiseRejectedResult).reason;
}

/** See `openOnnxEmbedder`. Calls are served in the order in which they are made. */
class OnnxEmbedder implements Embedder {
  readonly name: string;
  readonly dimensions: number;
  readonly identity: EmbedderIdentity;
  /** Abort flags of the calls under way. */
  private readonly flags = new Set<Int32Array>();
  private cut = 0;

  constructor(
    private readonly calls: WorkerCalls,
    settings: EncoderSettings,
    { dimensions, pooled }: OpenedEncoder,
    fingerprint: string,
  ) {
    const { model, queryPrefix, documentPrefix, normalize, maxTokens, pooling } = settings;
    this.name = model;
    this.dimensions = dimensions;
    const shared = { kind: "onnx", model, dimensions, queryPrefix, documentPrefix, normalize, maxTokens, fingerprint } as const;
    this.identity = { ...shared, pooling: pooled ? "none" : pooling };
  }

  embedQueries(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> {
    return this.embed(texts, this.identity.queryPrefix, signal);
  }

  embedDocuments(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> {
    return this.embed(texts, this.identity.documentPrefix, signal);
  }

  truncated(): number {
    return this.cut;
  }

  /** Calls under way are given up between two passes: onnxruntime brings the process down when its thread is terminated within one. */
  async close(): Promise<void> {
    for (const flag of this.flags) Atomics.store(flag, 0, 1);
    await this.calls.close({ end: true } satisfies EncoderCall, new InfrastructureError("the embedder was closed"));
  }

  private async embed(texts: readonly string[], prefix: string, signal: AbortSignal | undefined): Promise<Float32Array[]> {
    signal?.throwIfAborted();
    if (texts.length === 0) return [];
    const flag = new Int32Array(new SharedArrayBuffer(4));
    const { vectors, truncated } = await this.call(
      texts.map((text) => prefixed(prefix, text)),
      flag,
      signal,
    );
    this.cut += truncated;
    return texts.map((_, row) => vectors.slice(row * this.dimensions, (row + 1) * this.dimensions));
  }

  private async call(
    texts: readonly string[],
    flag: Int32Array<SharedArrayBuffer>,
    signal: AbortSignal | undefined,
  ): Promise<EncodedTexts> {
    const { controller, unlink } = linkedAbort([signal]);
    const aborted = new Promise<never>((_, reject) => {
      controller.signal.addEventListener("abort", () => {
        Atomics.store(flag, 0, 1);
        reject(controller.signal.reason as Error);
      });
    });
    this.flags.add(flag);
    try {
      const answer = this.calls.call({ texts, aborted: flag.buffer } satisfies EncoderCall);
      return (await Promise.race([answer, aborted])) as EncodedTexts;
    } finally {
      this.flags.delete(flag);
      unlink();
    }
  }
}
