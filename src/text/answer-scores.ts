import { DataError } from "../errors.ts";
import { bagF1 } from "./bag-f1.ts";
import { type AnswerProfile, normalizeAnswer, words } from "./normalize.ts";

/**
 * Token F1 of the prediction against the best gold alias, 0..1 (Eq. 4). Words count with repetition, order does not matter.
 * Where normalisation leaves nothing of either side, the raw strings are compared; an empty prediction is never right.
 * @throws DataError when there is no gold answer.
 */
export function tokenF1(prediction: string, goldAnswers: readonly string[], profile: AnswerProfile = "squad"): number {
  return bestAlias(prediction, goldAnswers, profile, bagF1);
}

/**
 * 1 when the normalised prediction equals a normalised alias, word for word. Empty sides as in {@link tokenF1}.
 * @throws DataError when there is no gold answer.
 */
export function exactMatch(prediction: string, goldAnswers: readonly string[], profile: AnswerProfile = "squad"): 0 | 1 {
  return bestAlias(prediction, goldAnswers, profile, (said, gold) => (said.length === gold.length && includesSequence(said, gold) ? 1 : 0));
}

/**
 * 1 when the words of an alias stand next to each other, in order, inside the prediction. Empty sides as in {@link tokenF1}.
 * @throws DataError when there is no gold answer.
 */
export function coverMatch(prediction: string, goldAnswers: readonly string[], profile: AnswerProfile = "squad"): 0 | 1 {
  return bestAlias(prediction, goldAnswers, profile, (said, gold) => (includesSequence(said, gold) ? 1 : 0));
}

/** Whether `part` occurs as a contiguous run inside `whole`; an empty part never does. */
export function includesSequence(whole: readonly string[], part: readonly string[]): boolean {
  if (part.length === 0) return false;
  for (let start = 0; start + part.length <= whole.length; start++) {
    if (part.every((word, offset) => whole[start + offset] === word)) return true;
  }
  return false;
}

/** @throws DataError when the list is empty: a question without a right answer can't be scored. */
export function requireGoldAnswers(goldAnswers: readonly string[]): void {
  if (goldAnswers.length === 0) throw new DataError("goldAnswers is an empty list: give at least one accepted answer");
}

function bestAlias<Score extends number>(
  prediction: string,
  goldAnswers: readonly string[],
  profile: AnswerProfile,
  score: (said: readonly string[], gold: readonly string[]) => Score,
): Score | 0 | 1 {
  requireGoldAnswers(goldAnswers);
  const said = words(normalizeAnswer(prediction, profile));
  let best: Score | 0 | 1 = 0;
  for (const alias of goldAnswers) {
    const gold = words(normalizeAnswer(alias, profile));
    const value = said.length === 0 && gold.length === 0 ? rawMatch(prediction, alias) : score(said, gold);
    if (value > best) best = value;
  }
  return best;
}

/** Comparison for texts of articles and punctuation only ("A", "!!!"), which normalisation would make all equal. */
function rawMatch(prediction: string, alias: string): 0 | 1 {
  const said = prediction.trim().toLowerCase();
  return said !== "" && said === alias.trim().toLowerCase() ? 1 : 0;
}
