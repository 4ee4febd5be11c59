import type { Worker } from "node:worker_threads";
import type { EmbedderConfig } from "../../config.ts";
import { InfrastructureError } from "../../errors.ts";
import { fromPlainError } from "../../threads/plain-error.ts";
import { startWorker } from "../../threads/start-worker.ts";
import type { Embedder, EmbedderIdentity } from "./embedder.ts";
import type { EncodedTexts } from "./encoder.ts";
import { prefixed } from "./encoder-families.ts";
import { encoderFingerprint } from "./encoder-fingerprint.ts";
import { type EncoderSettings, readEncoderFolder } from "./encoder-folder.ts";
import type { EncoderAnswer, EncoderCall, EncoderWorkerData, OpenedEncoder } from "./encoder-messages.ts";

/**
 * An encoder of the Hugging Face layout (E5, BGE, GTE, MiniLM, ...), run by onnxruntime in a worker thread.
 * @param folder The model's folder; see `readEncoderFolder`.
 * @throws ModelError for a folder that can't be used, ConfigError for settings that don't fit it.
 */
export async function openOnnxEmbedder(config: EmbedderConfig, folder: string): Promise<Embedder> {
  const settings = await readEncoderFolder(folder, config);
  const resources = { threads: config.threads, batchTokens: config.batchTokens };
  const worker = startWorker(import.meta.url, "encoder-worker", { settings, resources } satisfies EncoderWorkerData);
  const [opened, fingerprint] = await Promise.allSettled([opening(worker), encoderFingerprint(settings)]);
  if (opened.status === "fulfilled" && fingerprint.status === "fulfilled") {
    return new OnnxEmbedder(worker, settings, opened.value, fingerprint.value);
  }
  await worker.terminate();
  throw opened.status === "rejected" ? opened.reason : (fingerprint as PromiseRejectedResult).reason;
}

/** What the worker found, once its model is open. */
function opening(worker: Worker): Promise<OpenedEncoder> {
  return new Promise((resolve, reject) => {
    worker.once("message", (answer: EncoderAnswer) =>
      "error" in answer ? reject(fromPlainError(answer.error)) : resolve(answer.value as OpenedEncoder),
    );
    worker.once("error", reject);
    worker.once("exit", (code) => reject(new InfrastructureError(`the encoder's thread ended while it started (exit code ${code})`)));
  });
}

interface PendingCall {
  readonly resolve: (value: EncodedTexts) => void;
  readonly reject: (error: Error) => void;
}

/** See `openOnnxEmbedder`. Calls are served in the order in which they are made. */
class OnnxEmbedder implements Embedder {
  readonly name: string;
  readonly dimensions: number;
  readonly identity: EmbedderIdentity;
  private readonly pending = new Map<number, PendingCall>();
  /** Abort flags of the calls under way. */
  private readonly flags = new Set<Int32Array>();
  private cut = 0;
  private lastId = 0;
  /** Why no call can be served any more. */
  private ended: Error | undefined;
  private exited = false;

  constructor(
    private readonly worker: Worker,
    settings: EncoderSettings,
    { dimensions, pooled }: OpenedEncoder,
    fingerprint: string,
  ) {
    const { model, queryPrefix, documentPrefix, normalize, maxTokens, pooling } = settings;
    this.name = model;
    this.dimensions = dimensions;
    const shared = { kind: "onnx", model, dimensions, queryPrefix, documentPrefix, normalize, maxTokens, fingerprint } as const;
    this.identity = { ...shared, pooling: pooled ? "none" : pooling };
    worker.on("message", (answer: EncoderAnswer) => this.settle(answer));
    worker.on("error", (error) => this.end(new InfrastructureError(`the encoder's thread failed: ${error.message}`, { cause: error })));
    worker.on("exit", (code) => {
      this.exited = true;
      this.end(new InfrastructureError(`the encoder's thread ended unexpectedly (exit code ${code})`));
    });
    worker.unref();
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
    this.end(new InfrastructureError("the embedder was closed"));
    if (this.exited) return;
    this.worker.ref();
    const exit = new Promise((resolve) => this.worker.once("exit", resolve));
    this.worker.postMessage({ id: ++this.lastId, end: true } satisfies EncoderCall);
    await exit;
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

  private call(texts: readonly string[], flag: Int32Array<SharedArrayBuffer>, signal: AbortSignal | undefined): Promise<EncodedTexts> {
    return new Promise<EncodedTexts>((resolve, reject) => {
      if (this.ended) return reject(this.ended);
      const id = ++this.lastId;
      const abort = () => {
        Atomics.store(flag, 0, 1);
        reject(signal?.reason as Error);
      };
      const finish = () => {
        this.flags.delete(flag);
        signal?.removeEventListener("abort", abort);
      };
      this.flags.add(flag);
      this.pending.set(id, {
        resolve: (value) => {
          finish();
          resolve(value);
        },
        reject: (error) => {
          finish();
          reject(error);
        },
      });
      signal?.addEventListener("abort", abort, { once: true });
      // The process stays alive for the worker only while something is awaited.
      this.worker.ref();
      this.worker.postMessage({ id, texts, aborted: flag.buffer } satisfies EncoderCall);
    });
  }

  private settle(answer: EncoderAnswer): void {
    const call = this.pending.get(answer.id);
    this.pending.delete(answer.id);
    if (this.pending.size === 0 && !this.ended) this.worker.unref();
    if ("error" in answer) call?.reject(fromPlainError(answer.error));
    else call?.resolve(answer.value as EncodedTexts);
  }

  private end(reason: Error): void {
    this.ended ??= reason;
    for (const call of this.pending.values()) call.reject(this.ended);
    this.pending.clear();
  }
}
