import { includesSequence, requireGoldAnswers } from "./answer-scores.ts";
import { spaceIdeographs } from "./normalize.ts";

/** A word with its marks, or any other visible character with its marks (NFD turns `≠` into `=` and a stroke, which stay together). */
const token = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*|\S\p{M}*/gu;

/**
 * Whether the text contains the tokens of a gold answer next to each other, in order: the pseudo-relevance of Section 3.4.
 * Case-insensitive, after Unicode NFD; punctuation marks are tokens and articles stay. A blank alias never matches.
 * `fold` ignores accents; `cjk` makes every ideograph a token (by default a run without spaces is one).
 * @throws DataError when there is no gold answer.
 */
export function containsAnswer(
  text: string,
  goldAnswers: readonly string[],
  options: { readonly fold?: boolean; readonly cjk?: boolean } = {},
): boolean {
  requireGoldAnswers(goldAnswers);
  const tokens = tokenize(text, options);
  return goldAnswers.some((answer) => includesSequence(tokens, tokenize(answer, options)));
}

/**
 * Whether every gold answer is exactly yes, no, true or false. Such words occur in passages by accident, so the caller that
 * computes I_ans takes it as 0 then (Section 3.4). An empty list is not trivial.
 */
export function isTrivialAnswer(goldAnswers: readonly string[]): boolean {
  return goldAnswers.length > 0 && goldAnswers.every((answer) => ["yes", "no", "true", "false"].includes(answer.trim().toLowerCase()));
}

function tokenize(text: string, options: { readonly fold?: boolean; readonly cjk?: boolean }): string[] {
  let plain = text.normalize("NFD").toLowerCase();
  if (options.fold) plain = plain.replace(/\p{Mn}/gu, "");
  if (options.cjk) plain = spaceIdeographs(plain);
  return plain.match(token) ?? [];
}
