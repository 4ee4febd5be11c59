/** Entry point `cosearch/retrieval`. */
export { Bm25Index, type Bm25Options } from "./bm25-index.ts";
export { documentText, loadCorpus } from "./corpus.ts";
export { createRetriever } from "./create-retriever.ts";
export type { Embedder } from "./embedder.ts";
export { ExactIndex } from "./exact-index.ts";
export { HashedEmbedder, type HashedEmbedderOptions, type HashedEmbedderState } from "./hashed-embedder.ts";
export { type Bm25RetrieverOptions, bm25Retriever, type DenseRetrieverOptions, denseRetriever, type Retriever } from "./retriever.ts";
