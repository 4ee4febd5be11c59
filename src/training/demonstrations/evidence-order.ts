import { passageText } from "../../retrieval/passage-text.ts";
import { containsAnswer, isTrivialAnswer } from "../../text.ts";
import type { Document } from "../../types.ts";

/** 0..3: whether a passage holds one of the answers (2) and whether its title is known to be the right one (1). */
export function evidence(document: Document, answers: readonly string[], titles: readonly string[]): number {
  const holds = !isTrivialAnswer(answers) && containsAnswer(passageText(document), answers);
  return (holds ? 2 : 0) + (titles.includes(document.title) ? 1 : 0);
}

/** The documents with the most evidence first; otherwise their order stays. */
export function evidenceOrder(documents: readonly Document[], answers: readonly string[], titles: readonly string[]): Document[] {
  const scored = documents.map((document) => ({ document, score: evidence(document, answers, titles) }));
  return scored.sort((left, right) => right.score - left.score).map(({ document }) => document);
}
