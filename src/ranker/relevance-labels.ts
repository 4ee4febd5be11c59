/** Which candidates contain a gold answer (Section 3.4): the pseudo-labels of the ranker's reward and of every Hit@k. */
import { passageText } from "../retrieval/passage-text.ts";
import { containsAnswer, isTrivialAnswer } from "../text.ts";
import type { Document, SearchStep } from "../types.ts";

// The same passages come back for the same question many times in a step; both objects outlive it.
const known = new WeakMap<readonly string[], WeakMap<Document, boolean>>();

/** Whether a document contains a gold answer. Answers that say yes, no, true or false are found nowhere. */
export function isRelevant(document: Document, goldAnswers: readonly string[]): boolean {
  const ofAnswers = known.get(goldAnswers) ?? new WeakMap<Document, boolean>();
  known.set(goldAnswers, ofAnswers);
  const label = ofAnswers.get(document) ?? (!isTrivialAnswer(goldAnswers) && containsAnswer(passageText(document), goldAnswers));
  ofAnswers.set(document, label);
  return label;
}

/** Relevance of each of these documents, in their order. */
export function relevanceLabels(documents: readonly Document[], goldAnswers: readonly string[]): boolean[] {
  return documents.map((document) => isRelevant(document, goldAnswers));
}

/** I_ans: does any candidate of this step contain a gold answer? */
export function answerInCandidates(step: Pick<SearchStep, "candidates">, goldAnswers: readonly string[]): boolean {
  return step.candidates.some(({ document }) => isRelevant(document, goldAnswers));
}
