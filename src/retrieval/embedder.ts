/**
 * What turns text into vectors for the dense first stage. Queries and documents are embedded separately because encoders
 * such as E5 prefix them differently. Vectors have unit length (or are all zero for a text with no content), so that the
 * inner product is the cosine.
 */
export interface Embedder {
  readonly name: string;
  readonly dimensions: number;
  embedQueries(texts: readonly string[]): Promise<Float32Array[]>;
  embedDocuments(texts: readonly string[]): Promise<Float32Array[]>;
}
