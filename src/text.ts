/** Text measures of Sections 3.2-3.4: how answers and queries are normalised and compared. */
export { coverMatch, exactMatch, tokenF1 } from "./text/answer-scores.ts";
export { bagF1 } from "./text/bag-f1.ts";
export { containsAnswer, isTrivialAnswer } from "./text/contains-answer.ts";
export { type AnswerProfile, normalizeAnswer, normalizeQuery } from "./text/normalize.ts";
