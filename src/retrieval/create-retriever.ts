import type { Config } from "../config.ts";
import type { Document } from "../types.ts";
import { documentText } from "./corpus.ts";
import { HashedEmbedder } from "./hashed-embedder.ts";
import { bm25Retriever, denseRetriever, type Retriever } from "./retriever.ts";

/** The first stage that the configuration's `retrieval` section asks for, over these documents. */
export async function createRetriever(config: Config["retrieval"], documents: readonly Document[]): Promise<Retriever> {
  switch (config.kind) {
    case "bm25":
      return bm25Retriever({ documents, k1: config.k1, b: config.b });
    case "dense": {
      const { dimensions, idfPower } = config;
      return denseRetriever({ documents, embedder: HashedEmbedder.fit(documents.map(documentText), { dimensions, idfPower }) });
    }
  }
}
