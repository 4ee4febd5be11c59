import { bagF1, normalizeQuery } from "../text.ts";
import type { Group } from "../types.ts";

/** What grouping needs to know of a ranker call; whatever else a call carries stays with it. */
export interface GroupableCall {
  readonly query: string;
  /** I_ans: whether a candidate contains a gold answer. */
  readonly answerInCandidates: boolean;
}

/** The two thresholds of Alg. 2. */
export interface GroupingOptions {
  /** δ (Eq. 5): token F1 at which a query joins a group; default 0.8. */
  readonly similarityThreshold?: number;
  /** k_min (Alg. 2): smaller groups are dropped; default 3. */
  readonly minGroupSize?: number;
}

/**
 * Semantic grouping of one question's ranker calls (Eq. 5, Alg. 2). Calls come in (trajectory, turn) order. Each joins the
 * first group with its answer availability whose representative, the first member, has token F1 >= δ with its normalised
 * query; otherwise it opens a group. Groups come in the order in which they were opened; small ones are dropped at the end.
 * Keys are unique within the question.
 */
export function semanticGroups<Call extends GroupableCall>(calls: readonly Call[], options: GroupingOptions = {}): Group<Call>[] {
  const { similarityThreshold = 0.8, minGroupSize = 3 } = options;
  const open: { query: string; words: readonly string[]; answerInCandidates: boolean; members: Call[] }[] = [];
  for (const call of calls) {
    const { query, answerInCandidates } = call;
    const words = queryWords(query);
    const joined = open.find(
      (group) => group.answerInCandidates === answerInCandidates && bagF1(group.words, words) >= similarityThreshold,
    );
    if (joined) joined.members.push(call);
    else open.push({ query, words, answerInCandidates, members: [call] });
  }
  return open
    .map(({ query, answerInCandidates, members }, index) => ({
      key: `${answerInCandidates ? "answer" : "no-answer"}-${index}`,
      representativeQuery: query,
      answerInCandidates,
      members,
    }))
    .filter((group) => group.members.length >= minGroupSize);
}

/** The ablation without semantic grouping (Table 3): all calls of one question in one group, if they are enough. */
export function questionGroups<Call extends GroupableCall>(calls: readonly Call[], options: GroupingOptions = {}): Group<Call>[] {
  const { minGroupSize = 3 } = options;
  return calls.length === 0 || calls.length < minGroupSize ? [] : [{ key: "question", members: calls.slice() }];
}

/** The normalised query's words. A query of articles and punctuation only ("The The") stands for itself, or it would resemble nothing. */
function queryWords(query: string): string[] {
  const normalized = normalizeQuery(query);
  return normalized === "" ? [query.trim().toLowerCase()] : normalized.split(" ");
}
