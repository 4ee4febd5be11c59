/** Entry point `cosearch/retrieval`. */

export { documentText, loadCorpus } from "./corpus/corpus.ts";
export { createRetriever } from "./create-retriever.ts";
export type { Embedder } from "./embedding/embedder.ts";
export { HashedEmbedder, type HashedEmbedderOptions, type HashedEmbedderState } from "./embedding/hashed-embedder.ts";
export { Bm25Index, type Bm25Options } from "./indexing/bm25-index.ts";
export { ExactIndex } from "./indexing/exact-index.ts";
export { type Bm25RetrieverOptions, bm25Retriever, type DenseRetrieverOptions, denseRetriever, type Retriever } from "./retriever.ts";
