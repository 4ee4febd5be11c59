import type { SearchStep } from "../types.ts";
import type { Search, SearchRequest } from "./search.ts";

interface Waiting {
  readonly request: SearchRequest;
  readonly resolve: (step: SearchStep) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A search whose calls of one turn of the event loop return together, when the last of them is done. Trajectories then take their turns in
 * step: the batches in which they are sampled are as large as can be, and the same in every run (which batch a sequence is in can change the
 * last bits of its numbers).
 */
export function lockStep(search: Search): Search {
  let waiting: Waiting[] = [];
  const flush = async (): Promise<void> => {
    const batch = waiting;
    waiting = [];
    const outcomes = await Promise.allSettled(batch.map(({ request }) => search(request)));
    for (const [index, { resolve, reject }] of batch.entries()) {
      const outcome = outcomes[index];
      if (outcome?.status === "fulfilled") resolve(outcome.value);
      else reject(outcome?.reason);
    }
  };
  return (request) =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) setImmediate(() => void flush());
      waiting.push({ request, resolve, reject });
    });
}
