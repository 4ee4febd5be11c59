/** What the reward needs to know of a ranker call. */
export interface RankerOutcome {
  /** Whether the ranker's output could be read. */
  readonly formatValid: boolean;
  /** I_ans: whether a candidate contains a gold answer. */
  readonly answerInCandidates: boolean;
  /** r_rel of the ranking, 0..1. */
  readonly relevance: number;
  /** The answer F1 of the trajectory that the call belongs to, 0..1. */
  readonly main: number;
}

/** The constants and choices of Eq. 6. */
export interface RankerRewardOptions {
  /** α, default 0.2. */
  readonly formatPenalty?: number;
  /** γ; overrides the preset's number, not its comparison. */
  readonly relevanceThreshold?: number;
  /** `paper` (default) or the published code's choices, see {@link rankerRewardPresets}. */
  readonly preset?: RankerRewardPreset;
  /** Which terms of Eq. 6 stay (Table 3); default both. The format penalty always stays. */
  readonly terms?: "both" | "relevance" | "main";
}

/** The reward and its parts. */
export interface RankerReward {
  readonly total: number;
  /** Which line of Eq. 6 applied; with one term alone, the term's name. */
  readonly rule: "malformed" | "relevance" | "relevance+main" | "main";
  /** What r_rel adds to the total. */
  readonly relevanceTerm: number;
  /** What r_main adds to the total. */
  readonly mainTerm: number;
}

/** Whose comparison rule is used. */
export type RankerRewardPreset = "paper" | "reference";

/** Where the paper and its published code differ: γ, the comparison at γ, and the F1 that counts as r_main. */
export const rankerRewardPresets = {
  paper: {
    relevanceThreshold: 0.5,
    isRelevant: (relevance: number, threshold: number) => relevance > threshold,
    mainTerm: (answerF1: number) => answerF1,
  },
  reference: {
    relevanceThreshold: 0.8,
    isRelevant: (relevance: number, threshold: number) => relevance >= threshold,
    mainTerm: (answerF1: number) => (answerF1 >= 0.8 ? 1 : 0),
  },
} as const;

/**
 * The ranker's composite reward (Eq. 6):
 * −α when its output is malformed; r_rel when a candidate holds the answer but the ranking is weak (r_rel <= γ);
 * r_rel + r_main when the ranking is good; r_main when no candidate holds the answer.
 */
export function rankerReward(call: RankerOutcome, options: RankerRewardOptions = {}): RankerReward {
  const { formatPenalty = 0.2, preset = "paper", terms = "both" } = options;
  if (!call.formatValid) return { total: 0 - formatPenalty, rule: "malformed", relevanceTerm: 0, mainTerm: 0 };

  const rules = rankerRewardPresets[preset];
  const relevance = call.answerInCandidates ? call.relevance : 0;
  const main = rules.mainTerm(call.main);
  if (terms === "relevance") return { total: relevance, rule: "relevance", relevanceTerm: relevance, mainTerm: 0 };
  if (terms === "main" || !call.answerInCandidates) return { total: main, rule: "main", relevanceTerm: 0, mainTerm: main };

  const threshold = options.relevanceThreshold ?? rules.relevanceThreshold;
  if (!rules.isRelevant(relevance, threshold)) return { total: relevance, rule: "relevance", relevanceTerm: relevance, mainTerm: 0 };
  return { total: relevance + main, rule: "relevance+main", relevanceTerm: relevance, mainTerm: main };
}
