/** Entry point `cosearch/retrieval`. */

export { documentText, loadCorpus } from "./corpus/corpus.ts";
export { createRetriever, type MemoryRetriever } from "./create-retriever.ts";
export type { Embedder } from "./embedding/embedder.ts";
export { HashedEmbedder, type HashedEmbedderOptions, type HashedEmbedderState } from "./embedding/hashed-embedder.ts";
export { Bm25Index, type Bm25Options } from "./indexing/bm25-index.ts";
export { type BuildIndexOptions, buildIndex } from "./indexing/build-index.ts";
export type { BuildEvent } from "./indexing/build-progress.ts";
export { ExactIndex } from "./indexing/exact-index.ts";
export { type ImportFaissOptions, importFaiss } from "./indexing/import-faiss.ts";
export type { IndexManifest } from "./indexing/manifest.ts";
export { type OpenIndex, openIndex } from "./indexing/open-index.ts";
export { type VerifiedPart, type VerifyIndexOptions, verifyIndex } from "./indexing/verify-index.ts";
export { type OpenRetriever, type OpenRetrieverOptions, openRetriever } from "./open-retriever.ts";
export { type Bm25RetrieverOptions, bm25Retriever, type DenseRetrieverOptions, denseRetriever, type Retriever } from "./retriever.ts";
