import type { RetrievalConfig } from "../config.ts";
import type { Document } from "../types.ts";
import { documentText } from "./corpus/corpus.ts";
import type { Embedder } from "./embedding/embedder.ts";
import { HashedEmbedder } from "./embedding/hashed-embedder.ts";
import { Bm25Index } from "./indexing/bm25-index.ts";
import { ExactIndex } from "./indexing/exact-index.ts";
import { candidateFusion } from "./indexing/fusion.ts";
import { bm25Retriever, cachedRetriever, denseRetriever, type Retriever } from "./retriever.ts";

/** A retriever in memory. */
export interface MemoryRetriever extends Retriever {
  /** Model name of its embedder; absent from BM25. */
  readonly embedderModel?: string;
  /** Ends the embedder's threads or connections. */
  close(): Promise<void>;
}

/**
 * The first stage that the configuration's `retrieval` section asks for, in memory over these documents (its corpus, index folder and remote
 * address are not looked at).
 * @throws whatever opening the embedder and embedding the documents throw.
 */
export async function createRetriever(config: RetrievalConfig, documents: readonly Document[]): Promise<MemoryRetriever> {
  const { kind = "dense", k1, b, cacheSize } = config;
  if (kind === "bm25") return { ...bm25Retriever({ documents, k1, b, cacheSize }), close: async () => undefined };
  const embedder = await embedderOver(config, documents);
  const close = async () => embedder.close?.();
  try {
    const retriever =
      kind === "dense" ? await denseRetriever({ documents, cacheSize, embedder }) : await hybridRetriever(config, documents, embedder);
    return { ...retriever, embedderModel: embedder.identity.model, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function embedderOver({ embedder }: RetrievalConfig, documents: readonly Document[]): Promise<Embedder> {
  const { kind = "hashed", dimensions, idfPower } = embedder;
  if (kind === "hashed") return HashedEmbedder.fit(documents.map(documentText), { dimensions, idfPower });
  const { openEmbedder } = await import("./embedding/open-embedder.ts");
  return openEmbedder(embedder);
}

/** Dense and BM25 results by reciprocal rank fusion. */
async function hybridRetriever(config: RetrievalConfig, documents: readonly Document[], embedder: Embedder): Promise<Retriever> {
  const { k1, b, cacheSize, fusionDepth, fusionConstant } = config;
  const dense = new ExactIndex(documents, await embedder.embedDocuments(documents.map(documentText)));
  const words = new Bm25Index(documents, { k1, b });
  const fused = candidateFusion(documents, fusionConstant);
  return cachedRetriever(`hybrid-${embedder.name}`, cacheSize, async (queries, topK) => {
    const vectors = await embedder.embedQueries(queries);
    const depth = Math.max(fusionDepth, topK);
    return queries.map((query, index) => {
      const byMeaning = dense.search(vectors[index] as Float32Array, depth);
      // Passages that share no word with the query only fill up the list.
      const byWords = words.search(query, depth).filter(({ score }) => score > 0);
      return fused([byMeaning, byWords], topK);
    });
  });
}
