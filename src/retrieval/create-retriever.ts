import type { RetrievalConfig } from "../config.ts";
import { ConfigError } from "../errors.ts";
import type { Document } from "../types.ts";
import { documentText } from "./corpus/corpus.ts";
import { HashedEmbedder } from "./embedding/hashed-embedder.ts";
import { bm25Retriever, denseRetriever, type Retriever } from "./retriever.ts";

/** The first stage that the configuration's `retrieval` section asks for, in memory over these documents. */
export async function createRetriever(config: RetrievalConfig, documents: readonly Document[]): Promise<Retriever> {
  const { kind = "dense", embedder, k1, b, cacheSize } = config;
  if (kind === "bm25") return bm25Retriever({ documents, k1, b, cacheSize });
  const { kind: embedderKind = "hashed" } = embedder;
  if (kind === "hybrid" || embedderKind !== "hashed")
    throw new ConfigError(`retrieval.kind: ${kind} with the ${embedderKind} embedder needs an index folder`);
  const { dimensions, idfPower } = embedder;
  return denseRetriever({ documents, cacheSize, embedder: HashedEmbedder.fit(documents.map(documentText), { dimensions, idfPower }) });
}
