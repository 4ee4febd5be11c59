/**
 * What turns text into vectors for the dense first stage. Queries and documents are embedded separately because encoders
 * such as E5 prefix them differently. Unless told otherwise vectors have unit length (or are all zero for a text with no
 * content), so that the inner product is the cosine.
 */
export interface Embedder {
  readonly name: string;
  /** Length of every vector. */
  readonly dimensions: number;
  /** What must be equal for vectors to be comparable; kept in an index's manifest. */
  readonly identity: EmbedderIdentity;
  /** @throws InfrastructureError when a service or thread failed for good. */
  embedQueries(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]>;
  /** As `embedQueries`. The same texts in the same calls give the same bits where the embedder runs in process. */
  embedDocuments(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]>;
  /** How many texts were cut at the model's longest input so far. Absent: the embedder can't tell, or never cuts. */
  truncated?(): number;
  close?(): Promise<void>;
}

/** Plain data that names an embedder: two vectors may be compared only if their identities are equal. */
export interface EmbedderIdentity {
  readonly kind: "hashed" | "onnx" | "endpoint" | "unknown";
  /** Model name as users know it, e.g. `intfloat/e5-base-v2`; no local path. */
  readonly model: string;
  readonly dimensions: number;
  readonly queryPrefix: string;
  readonly documentPrefix: string;
  /** Of an encoder whose pooling is ours to do. */
  readonly pooling?: "mean" | "cls" | "last" | "none";
  /** Whether vectors are scaled to unit length. */
  readonly normalize: boolean;
  /** Longest input in tokens, special ones included. */
  readonly maxTokens?: number;
  /** SHA-256 (hexadecimal) of what else decides the vectors: weights and tokenizer, or learnt statistics. Absent where it can't be known. */
  readonly fingerprint?: string;
}
