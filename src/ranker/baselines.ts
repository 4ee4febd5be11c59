/** Retrieval without a generative ranker: the retriever's own order, and the oracle's (App. F). */

import type { Retriever } from "../retrieval/retriever.ts";
import type { Search } from "../retrieval/search.ts";
import { isRelevant } from "./relevance-labels.ts";

/** A retriever and how much of it is used. */
export interface BaselineSearchOptions {
  readonly retriever: Retriever;
  /** N: candidates retrieved. */
  readonly candidates: number;
  /** K: documents shown. */
  readonly topK: number;
}

/** Retrieval Only: the retriever's top K. N candidates are retrieved all the same, so that Hit@k figures speak of one pool. */
export function retrievalOnlySearch({ retriever, candidates: count, topK }: BaselineSearchOptions): Search {
  return async ({ query }) => {
    const [candidates = []] = await retriever.search([query], count);
    return { query, candidates, observation: candidates.slice(0, topK).map(({ document }) => document) };
  };
}

/**
 * App. F: candidates that contain a gold answer go to the top, the retriever's order kept inside both parts. Online: the agent
 * goes on from there.
 */
export function oracleSearch({ retriever, candidates: count, topK }: BaselineSearchOptions): Search {
  return async ({ question, query }) => {
    const [candidates = []] = await retriever.search([query], count);
    const documents = candidates.map(({ document }) => document);
    const lifted = [
      ...documents.filter((document) => isRelevant(document, question.goldAnswers)),
      ...documents.filter((document) => !isRelevant(document, question.goldAnswers)),
    ];
    return { query, candidates, observation: lifted.slice(0, topK) };
  };
}
