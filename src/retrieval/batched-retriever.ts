import type { Candidate } from "../types.ts";
import { outcomesOf, type Retriever } from "./retriever.ts";

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
    try {
      const outcomes = await outcomesOf(retriever, queries, topK);
      const byQuery = new Map(queries.map((query, index) => [query, outcomes[index] as PromiseSettledResult<Candidate[]>]));
      for (const { query, resolve, reject } of batch) {
        const outcome = byQuery.get(query) as PromiseSettledResult<Candidate[]>;
        if (outcome.status === "fulfilled") resolve(outcome.value);
        else reject(outcome.reason);
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
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
