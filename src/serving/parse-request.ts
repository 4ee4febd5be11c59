import { isRecord, shown } from "../json-values.ts";
import type { RetrieveRequest } from "../retrieval/wire/retrieve-wire.ts";

/** What a request may ask for. */
export interface RequestLimits {
  readonly maxQueries: number;
  /** UTF-16 units. */
  readonly maxQueryCharacters: number;
  readonly maxTopK: number;
  /** Most passages in one answer: queries times passages a query. */
  readonly maxPassages: number;
  /** Passages a query where the request doesn't say. */
  readonly defaultTopK: number;
}

/** A request can't be answered as it is; the message says what to change. Status 400. */
export class BadRequestError extends Error {
  override readonly name = "BadRequestError";
}

/**
 * Reads the body of `POST /retrieve`. Keys beyond {@link RetrieveRequest} are passed over, as servers of this wire do.
 * @throws BadRequestError naming the key, what it holds and what is expected.
 */
export function parseRequest(body: Uint8Array, limits: RequestLimits): Required<RetrieveRequest> & { readonly topk: number } {
  const { queries, topk, return_scores: returnScores } = readObject(body);
  const { maxQueries, maxQueryCharacters, maxTopK, maxPassages, defaultTopK } = limits;
  if (!Array.isArray(queries)) throw new BadRequestError(`queries: expected a list of strings, got ${shown(queries)}`);
  if (queries.length > maxQueries) throw new BadRequestError(`queries: ${queries.length} are too many: send at most ${maxQueries} at once`);
  for (const [index, query] of queries.entries()) {
    if (typeof query !== "string") throw new BadRequestError(`queries[${index}]: expected a string, got ${shown(query)}`);
    if (query.length > maxQueryCharacters) {
      throw new BadRequestError(`queries[${index}]: ${query.length} characters are too many: send at most ${maxQueryCharacters}`);
    }
  }
  const passagesEach = topk ?? defaultTopK;
  if (typeof passagesEach !== "number" || !Number.isInteger(passagesEach) || passagesEach < 1 || passagesEach > maxTopK)
    throw new BadRequestError(`topk: expected a whole number from 1 to ${maxTopK}, or null for ${defaultTopK}, got ${shown(topk)}`);
  if (returnScores !== undefined && returnScores !== null && typeof returnScores !== "boolean") {
    throw new BadRequestError(`return_scores: expected true or false, got ${shown(returnScores)}`);
  }
  const passages = queries.length * passagesEach;
  if (passages > maxPassages) {
    throw new BadRequestError(`queries times topk: ${passages} passages are too many for one answer: ask for at most ${maxPassages}`);
  }
  return {
    queries: (queries as string[]).map((query) => query.replace(/\p{Surrogate}/gu, "\ufffd")),
    topk: passagesEach,
    return_scores: returnScores === true,
  };
}

function readObject(body: Uint8Array): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch (error) {
    const reason = error instanceof SyntaxError ? error.message : "it is not UTF-8 text";
    throw new BadRequestError(`the body is not JSON: ${reason}`, { cause: error });
  }
  if (isRecord(value)) return value;
  throw new BadRequestError(`expected an object, e.g. {"queries": ["..."], "topk": 3, "return_scores": true}, got ${shown(value)}`);
}
