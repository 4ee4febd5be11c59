import { describe, expect, it } from "vitest";
import { configSchema } from "../config.ts";
import type { Document } from "../types.ts";
import { createRetriever } from "./create-retriever.ts";
import type { Embedder } from "./embedding/embedder.ts";
import { HashedEmbedder } from "./embedding/hashed-embedder.ts";
import { QueryCache } from "./query-cache.ts";
import { bm25Retriever, denseRetriever } from "./retriever.ts";

const documents = [
  { id: "1", title: "Peru", text: "The capital of Peru is Lima." },
  { id: "2", title: "Peru", text: "Legal tender in Peru is the Sol." },
  { id: "3", title: "Chile", text: "The capital of Chile is Santiago." },
];

const retrievalConfig = (retrieval: object) =>
  configSchema.parse({
    data: { train: "train.jsonl", test: "test.jsonl" },
    agent: { model: "m" },
    ranker: { model: "m", topK: 2 },
    retrieval: { corpus: "corpus.jsonl", ...retrieval },
  }).retrieval;

describe("createRetriever", () => {
  it.each(["dense", "bm25"])("finds the passage that the words point to (%s)", async (kind) => {
    const retriever = await createRetriever(retrievalConfig({ kind, candidates: 3 }), documents);
    const [first, second] = await retriever.search(["capital of Peru", "Santiago"], 2);
    expect(first?.map(({ document }) => document.id)[0]).toBe("1");
    expect(second?.[0]?.document.id).toBe("3");
    expect(first?.map(({ rank }) => rank)).toEqual([1, 2]);
  });
});

/** A real embedder that also counts the texts it was asked to embed. */
class CountingEmbedder implements Embedder {
  readonly name = "counting";
  readonly dimensions = 64;
  queries = 0;
  private readonly inner = HashedEmbedder.fit(
    documents.map(({ text }) => text),
    { dimensions: 64 },
  );
  readonly identity = this.inner.identity;
  async embedQueries(texts: readonly string[]) {
    this.queries += texts.length;
    return this.inner.embedQueries(texts);
  }
  embedDocuments(texts: readonly string[]) {
    return this.inner.embedDocuments(texts);
  }
}

describe("the cache", () => {
  it("embeds each distinct query once while it is remembered", async () => {
    const embedder = new CountingEmbedder();
    const retriever = await denseRetriever({ embedder, documents, cacheSize: 2 });
    const once = await retriever.search(["Lima", "Lima", "Sol"], 1);
    expect(embedder.queries).toBe(2);
    expect(await retriever.search(["Sol", "Lima", "Lima"], 1)).toEqual([once[2], once[0], once[0]]);
    expect(embedder.queries).toBe(2);
    await retriever.search(["Chile"], 1); // "Sol" is the least recently used and goes.
    await retriever.search(["Lima"], 1);
    expect(embedder.queries).toBe(3);
    await retriever.search(["Sol"], 1);
    expect(embedder.queries).toBe(4);
  });

  it("holds fewer results where they are longer", () => {
    const cache = new QueryCache(4);
    const found = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ document: documents[0] as Document, score: 1, rank: index + 1 }));
    for (const query of ["a", "b", "c", "c"]) cache.set(query, 50, found(50));
    cache.set("long", 150, found(150));
    expect(["a", "b", "c"].map((query) => cache.get(query, 50)?.length)).toEqual([undefined, undefined, 50]);
    expect(cache.get("long", 150)).toHaveLength(150);
    cache.set("too long", 1000, found(1000));
    expect(cache.get("too long", 1000)).toBeUndefined();
  });

  it("keeps depths apart and gives callers lists of their own", async () => {
    const retriever = bm25Retriever({ documents });
    const [short] = await retriever.search(["capital"], 1);
    short?.pop();
    const [again] = await retriever.search(["capital"], 1);
    const [long] = await retriever.search(["capital"], 3);
    expect([short?.length, again?.length, long?.length]).toEqual([0, 1, 3]);
  });

  it("answers without waiting for timers or I/O", async () => {
    const retriever = bm25Retriever({ documents });
    const order: string[] = [];
    const immediate = new Promise<void>((resolve) => setImmediate(() => resolve(void order.push("event loop"))));
    await retriever.search(["Lima"], 1).then(() => order.push("search"));
    await immediate;
    expect(order).toEqual(["search", "event loop"]);
  });

  it("refuses a depth that is no positive integer", async () => {
    await expect(bm25Retriever({ documents }).search(["x"], 0)).rejects.toThrow("topK must be a positive integer, got 0");
  });
});
