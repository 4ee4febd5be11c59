import type { Candidate, Document } from "../types.ts";
import { documentText } from "./corpus/corpus.ts";
import type { Embedder } from "./embedding/embedder.ts";
import { Bm25Index, type Bm25Options } from "./indexing/bm25-index.ts";
import { ExactIndex } from "./indexing/exact-index.ts";
import { QueryCache } from "./query-cache.ts";

/** The first stage: a fixed retriever. Results are best first, `rank` from 1, at most `topK`. */
export interface Retriever {
  readonly name: string;
  /** @throws InfrastructureError when retrieval fails for good. */
  search(queries: readonly string[], topK: number): Promise<Candidate[][]>;
  /** The same where queries can fail one by one: an outcome a query. Never rejects for a failing service. */
  searchEach?(queries: readonly string[], topK: number): Promise<PromiseSettledResult<Candidate[]>[]>;
}

/**
 * A retriever's outcome for every query, one by one where it can tell them apart.
 * @throws whatever the whole search failed with.
 */
export async function outcomesOf(
  retriever: Retriever,
  queries: readonly string[],
  topK: number,
): Promise<readonly PromiseSettledResult<Candidate[]>[]> {
  const outcomes = retriever.searchEach
    ? await retriever.searchEach(queries, topK)
    : (await retriever.search(queries, topK)).map((value) => ({ status: "fulfilled", value }) as const);
  if (outcomes.length === queries.length) return outcomes;
  throw new Error(`the retriever ${retriever.name} returned ${outcomes.length} lists for ${queries.length} queries`);
}

/** How many results an in-memory retriever remembers. */
const defaultCacheSize = 20_000;

/** What `denseRetriever` searches, and with what. */
export interface DenseRetrieverOptions {
  readonly embedder: Embedder;
  readonly documents: readonly Document[];
  /** Results remembered; 0: none. */
  readonly cacheSize?: number;
}

/** Embeds the documents (title and text) once and searches them exactly by inner product. */
export async function denseRetriever({ embedder, documents, cacheSize = defaultCacheSize }: DenseRetrieverOptions): Promise<Retriever> {
  const index = new ExactIndex(documents, await embedder.embedDocuments(documents.map(documentText)));
  return cachedRetriever(`dense-${embedder.name}`, cacheSize, async (queries, topK) => {
    const vectors = await embedder.embedQueries(queries);
    return vectors.map((vector) => index.search(vector, topK));
  });
}

/** What `bm25Retriever` searches, and how it scores. */
export interface Bm25RetrieverOptions extends Bm25Options {
  readonly documents: readonly Document[];
  /** Results remembered; 0: none. */
  readonly cacheSize?: number;
}

/** BM25 over title and text, in memory. */
export function bm25Retriever({ documents, cacheSize = defaultCacheSize, ...options }: Bm25RetrieverOptions): Retriever {
  const index = new Bm25Index(documents, options);
  return cachedRetriever("bm25", cacheSize, async (queries, topK) => queries.map((query) => index.search(query, topK)));
}

/** Answers what it can from the cache and asks `searchAll` once for the distinct rest. No timers, no I/O of its own. */
export function cachedRetriever(
  name: string,
  cacheSize: number,
  searchAll: (queries: readonly string[], topK: number) => Promise<Candidate[][]>,
): Retriever {
  const cache = new QueryCache(cacheSize);
  return {
    name,
    async search(queries, topK) {
      if (!Number.isInteger(topK) || topK < 1) throw new RangeError(`topK must be a positive integer, got ${topK}`);
      const known = new Map<string, readonly Candidate[]>();
      const missing = new Set<string>();
      for (const query of queries) {
        const found = cache.get(query, topK);
        if (found) known.set(query, found);
        else missing.add(query);
      }
      const distinct = [...missing];
      const results = distinct.length > 0 ? await searchAll(distinct, topK) : [];
      distinct.forEach((query, index) => {
        const candidates = results[index] as Candidate[];
        known.set(query, candidates);
        cache.set(query, topK, candidates);
      });
      return queries.map((query) => [...(known.get(query) as readonly Candidate[])]);
    },
  };
}
