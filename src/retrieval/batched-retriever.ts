import type { Candidate } from "../types.ts";
import type { Retriever } from "./retriever.ts";

interface Waiting {
  readonly query: string;
  readonly topK: number;
  readonly resolve: (candidates: Candidate[]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A retriever that serves all queries made in one turn of the event loop with one search, each distinct query once. Callers that
 * wait together go on together, so that what they ask next (the ranker's outputs) forms one batch too, the same one in every run.
 * Where the retriever can tell which query failed, the others are answered.
 */
export function batchedRetriever(retriever: Retriever): Retriever {
  let waiting: Waiting[] = [];

  const serve = async (batch: readonly Waiting[], topK: number): Promise<void> => {
    const queries = [...new Set(batch.map(({ query }) => query))];
    const outcomes = await outcomesOf(retriever, queries, topK);
    const byQuery = new Map(queries.map((query, index) => [query, outcomes[index]]));
    for (const { query, resolve, reject } of batch) {
      const outcome = byQuery.get(query);
      if (outcome?.status === "fulfilled") resolve(outcome.value);
      else reject(outcome?.reason ?? new Error(`${retriever.name} returned too few results`));
    }
  };

  const flush = (): void => {
    const all = waiting;
    waiting = [];
    for (const topK of new Set(all.map((one) => one.topK))) {
      void serve(
        all.filter((one) => one.topK === topK),
        topK,
      );
    }
  };

  return {
    name: retriever.name,
    search: (queries, topK) =>
      Promise.all(
        queries.map(
          (query) =>
            new Promise<Candidate[]>((resolve, reject) => {
              if (waiting.length === 0) setImmediate(flush);
              waiting.push({ query, topK, resolve, reject });
            }),
        ),
      ),
  };
}

async function outcomesOf(
  retriever: Retriever,
  queries: readonly string[],
  topK: number,
): Promise<readonly PromiseSettledResult<Candidate[]>[]> {
  try {
    if (retriever.searchEach) return await retriever.searchEach(queries, topK);
    return (await retriever.search(queries, topK)).map((value) => ({ status: "fulfilled", value }));
  } catch (reason) {
    return queries.map(() => ({ status: "rejected", reason }));
  }
}
