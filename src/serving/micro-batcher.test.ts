import { describe, expect, it } from "vitest";
import type { Retriever } from "../retrieval/retriever.ts";
import type { Candidate } from "../types.ts";
import { MicroBatcher, type MicroBatcherOptions, OverloadedError } from "./micro-batcher.ts";

const found = (query: string, topK: number): Candidate[] => [
  { document: { id: `${query}-${topK}`, title: "", text: query }, score: 1, rank: 1 },
];
const ids = (lists: readonly (readonly Candidate[])[]) => lists.map((list) => list[0]?.document.id);

/** A retriever that records what it is asked, and waits for `release` where `held`. */
function recording(held = false) {
  const asked: { readonly queries: readonly string[]; readonly topK: number }[] = [];
  const releases: (() => void)[] = [];
  const retriever: Retriever = {
    name: "recording",
    async search(queries, topK) {
      asked.push({ queries, topK });
      if (held) await new Promise<void>((resolve) => releases.push(resolve));
      if (queries.includes("bad")) throw new Error("bad query");
      return queries.map((query) => found(query, topK));
    },
  };
  return { retriever, asked, releaseAll: () => releases.splice(0).forEach((release) => void release()) };
}

function batcher(retriever: Retriever, options: Partial<MicroBatcherOptions> = {}): MicroBatcher {
  return new MicroBatcher(retriever, { batchQueries: 4, batchMilliseconds: 5, maxWaiting: 100, concurrentSearches: 1, ...options });
}

const turn = (milliseconds = 20) => new Promise((resolve) => setTimeout(resolve, milliseconds));

describe("MicroBatcher", () => {
  it("searches once for requests of one moment, each distinct query once", async () => {
    const { retriever, asked } = recording();
    const batches = batcher(retriever);
    const answers = await Promise.all([batches.search(["a", "b"], 3), batches.search(["b"], 3), batches.search([], 3)]);
    expect(answers.map(ids)).toEqual([["a-3", "b-3"], ["b-3"], []]);
    expect(asked).toEqual([{ queries: ["a", "b"], topK: 3 }]);
    expect(batches.waiting).toBe(0);
  });

  it("gathers what comes while a search is under way", async () => {
    const { retriever, asked, releaseAll } = recording(true);
    const batches = batcher(retriever);
    const answers = [batches.search(["a"], 3)];
    await turn();
    answers.push(batches.search(["b"], 3), batches.search(["c"], 3));
    await turn();
    expect(asked).toHaveLength(1);
    releaseAll();
    await turn();
    releaseAll();
    expect((await Promise.all(answers)).map(ids)).toEqual([["a-3"], ["b-3"], ["c-3"]]);
    expect(asked.map(({ queries }) => queries)).toEqual([["a"], ["b", "c"]]);
  });

  it("searches apart for another number of passages, and splits what is too large", async () => {
    const { retriever, asked } = recording();
    const batches = batcher(retriever);
    const many = Array.from({ length: 9 }, (_, index) => `q${index}`);
    const answers = await Promise.all([batches.search(many, 3), batches.search(["a"], 2), batches.search(["b", "c", "d"], 3)]);
    expect(answers.map(ids)).toEqual([many.map((query) => `${query}-3`), ["a-2"], ["b-3", "c-3", "d-3"]]);
    expect(asked.every(({ queries }) => queries.length <= 4)).toBe(true);
    expect(asked.find(({ queries }) => queries.includes("q8"))).toEqual({ queries: ["q8", "b", "c", "d"], topK: 3 });
  });

  it("fails only the requests whose query fails", async () => {
    const { retriever, asked } = recording();
    const batches = batcher(retriever);
    const outcomes = await Promise.allSettled([batches.search(["a"], 3), batches.search(["bad"], 3), batches.search(["b"], 3)]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(asked.map(({ queries }) => queries)).toEqual([["a", "bad", "b"], ["a"], ["bad"], ["b"]]);
    expect(batches.waiting).toBe(0);
  });

  it("takes the outcome of every query from a retriever that tells it", async () => {
    let searches = 0;
    const retriever: Retriever = {
      name: "each",
      search: async () => expect.unreachable("searchEach is there"),
      async searchEach(queries, topK) {
        searches++;
        return queries.map((query) =>
          query === "bad" ? { status: "rejected", reason: new Error("refused") } : { status: "fulfilled", value: found(query, topK) },
        );
      },
    };
    const batches = batcher(retriever);
    const outcomes = await Promise.allSettled([batches.search(["a"], 3), batches.search(["b", "bad"], 3)]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect(searches).toBe(1);
  });

  it("refuses what is too much, and accepts again later", async () => {
    const { retriever, releaseAll } = recording(true);
    const batches = batcher(retriever, { maxWaiting: 2, batchQueries: 1 });
    const first = batches.search(["a"], 3);
    const second = batches.search(["b"], 3);
    await expect(batches.search(["c"], 3)).rejects.toThrow(OverloadedError);
    await turn();
    releaseAll();
    await first;
    await turn();
    releaseAll();
    await second;
    const third = batches.search(["c"], 3);
    await turn();
    releaseAll();
    expect(ids(await third)).toEqual(["c-3"]);
    await batches.idle();
  });

  it("takes a request whose client went away out of the queue", async () => {
    const { retriever, asked, releaseAll } = recording(true);
    const batches = batcher(retriever);
    const first = batches.search(["a"], 3);
    await turn();
    const controller = new AbortController();
    const gone = batches.search(["b"], 3, controller.signal);
    controller.abort(new Error("gone"));
    await expect(gone).rejects.toThrow("gone");
    expect(batches.waiting).toBe(1);
    releaseAll();
    await first;
    await turn();
    expect(asked.map(({ queries }) => queries)).toEqual([["a"]]);
  });

  it("reports a retriever that returns too few lists", async () => {
    const short: Retriever = { name: "short", search: async () => [] };
    await expect(batcher(short).search(["a"], 3)).rejects.toThrow("the retriever short returned 0 lists for 1 queries");
  });
});
