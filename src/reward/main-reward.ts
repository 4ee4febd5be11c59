import { type AnswerProfile, tokenF1 } from "../text.ts";

/** What the reward needs to know of a trajectory. */
export interface MainOutcome {
  /** Whether every turn of the trajectory followed the protocol. */
  readonly formatValid: boolean;
  /** Absent when the trajectory ended without an answer. */
  readonly answer?: string;
  readonly goldAnswers: readonly string[];
}

/** The reward and its parts. */
export interface MainReward {
  readonly formatValid: boolean;
  /** Token F1 of the answer found, 0 without one; told after a format error too. */
  readonly answerF1: number;
  /** What the policy is trained on: F1, or −α after a format error. */
  readonly total: number;
}

/**
 * The main agent's outcome reward (Eq. 4): token F1 against the best alias, −α when the format is wrong.
 * `formatPenalty` is α, default 0.2.
 * @throws DataError when there is no gold answer.
 */
export function mainReward(
  outcome: MainOutcome,
  options: { readonly formatPenalty?: number; readonly profile?: AnswerProfile } = {},
): MainReward {
  const { formatPenalty = 0.2, profile = "squad" } = options;
  const { formatValid } = outcome;
  const answerF1 = tokenF1(outcome.answer ?? "", outcome.goldAnswers, profile);
  return { formatValid, answerF1, total: formatValid ? answerF1 : 0 - formatPenalty };
}
