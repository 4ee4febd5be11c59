import type { Ranking } from "../types.ts";

/** What the ranker was shown and asked for. */
export interface ParseRankingOptions {
  /** N: how many candidates the ranker was shown; their labels are 1..N. */
  readonly candidates: number;
  /** K: how many labels are asked for; min(K, N) are expected. */
  readonly topK: number;
  /**
   * `strict` (default; training): exactly the format of Appendix A.2. `lenient` (serving): the first mention of each label
   * in the rerank block, out-of-range ones dropped, filled up in retrieval order.
   */
  readonly mode?: "strict" | "lenient";
}

/** One reason block and one rerank block, nothing else; a tag inside a block can't match. */
const frame =
  /^\s*<reason>((?:(?!<\/?(?:reason|rerank)>)[\s\S])*)<\/reason>\s*<rerank>((?:(?!<\/?(?:reason|rerank)>)[\s\S])*)<\/rerank>\s*$/;

/** ASCII brackets, digits, separators and white space only. */
const labelList = /^[ \t\r\n]*\[[1-9][0-9]*\](?:[ \t\r\n]*>[ \t\r\n]*\[[1-9][0-9]*\])*[ \t\r\n]*$/;

/**
 * Reads the ranker's output (Section 3.3, App. A.2): one non-blank `<reason>` block, then one `<rerank>` block
 * `[i] > [j] > ...` with exactly min(topK, candidates) distinct labels, which are returned best first.
 * Whatever the text holds, it is read or called malformed; nothing is thrown for it.
 * @throws RangeError when `candidates` or `topK` is not a positive integer.
 */
export function parseRanking(text: string, options: ParseRankingOptions): Ranking {
  const { candidates, topK, mode = "strict" } = options;
  requirePositive("candidates", candidates);
  requirePositive("topK", topK);
  const expected = Math.min(topK, candidates);
  return mode === "strict" ? parseStrict(text, candidates, expected) : parseLenient(text, candidates, expected);
}

function parseStrict(text: string, candidates: number, expected: number): Ranking {
  const blocks = frame.exec(text);
  if (!blocks) return malformed("expected one <reason> block followed by one <rerank> block and nothing else");
  const [, reason = "", list = ""] = blocks;
  if (reason.trim() === "") return malformed("the <reason> block is blank");
  if (!labelList.test(list)) return malformed("the <rerank> block must be labels joined by >, e.g. [2] > [1]");
  const labels = (list.match(/[0-9]+/g) ?? []).map(Number);
  if (labels.length !== expected) return malformed(`expected ${expected} labels, got ${labels.length}`);
  const outside = labels.find((label) => label > candidates);
  if (outside !== undefined) return malformed(`label ${outside} is outside 1..${candidates}`);
  if (new Set(labels).size !== labels.length) return malformed("a label occurs twice");
  return { kind: "ranked", candidateRanks: labels };
}

function parseLenient(text: string, candidates: number, expected: number): Ranking {
  if (/<reason>\s*<\/reason>/.test(text)) return malformed("the <reason> block is blank");
  // An unclosed block is read to its end: the output budget may have cut it.
  const block = /<rerank>([\s\S]*?)(?:<\/rerank>|$)/.exec(text);
  if (!block) return malformed("there is no <rerank> block");
  // NFKC turns full-width brackets and digits into ASCII ones.
  const mentioned = [...(block[1] ?? "").normalize("NFKC").matchAll(/\[\s*([0-9]+)\s*\]/g)].map((match) => Number(match[1]));
  if (mentioned.length === 0) return malformed("the <rerank> block names no label");
  const chosen = new Set(mentioned.filter((label) => label >= 1 && label <= candidates));
  for (let label = 1; label <= candidates; label++) chosen.add(label);
  return { kind: "ranked", candidateRanks: [...chosen].slice(0, expected) };
}

function requirePositive(name: string, value: number): void {
  if (!Number.isInteger(value) || value < 1) throw new RangeError(`${name} must be an integer of at least 1, got ${value}`);
}

function malformed(reason: string): Ranking {
  return { kind: "malformed", reason };
}
