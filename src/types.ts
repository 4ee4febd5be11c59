/** The nouns of the system: plain, read-only, JSON-serialisable data. Nothing here computes anything. */

/** One question with every accepted answer. */
export interface Question {
  readonly id: string;
  readonly question: string;
  /** Accepted answers (aliases); never empty. */
  readonly goldAnswers: readonly string[];
  readonly dataset: string;
  readonly split: string;
}

/** A passage of the corpus. */
export interface Document {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

/** A document as the first-stage retriever returned it; `rank` counts from 1 and is the `[i]` that the ranker sees. */
export interface Candidate {
  readonly document: Document;
  readonly score: number;
  readonly rank: number;
}

/** What a sampler produced, verbatim: these tokens (never a re-tokenisation of `text`) are what is trained on. */
export interface SampledTokens {
  readonly tokenIds: readonly number[];
  /**
   * Log-probability of each token under the distribution it was sampled from, aligned with `tokenIds`. Empty where an inference endpoint
   * told none; what trains has them always.
   */
  readonly logprobs: readonly number[];
  readonly text: string;
  /** `stop`: a stop token or string ended it (the stop token is included); `length`: the token budget ran out. */
  readonly finishReason: "stop" | "length";
  /** The `publish` count of the weights that produced these tokens. */
  readonly policyVersion: number;
}

/** A ranker output as it was read. */
export type Ranking =
  /** Labels from 1, best first, exactly min(topK, candidates) of them. */
  { readonly kind: "ranked"; readonly candidateRanks: readonly number[] } | { readonly kind: "malformed"; readonly reason: string };

/** One call of the ranker (Alg. 1). */
export interface RankerCall {
  readonly questionId: string;
  readonly trajectoryIndex: number;
  readonly turnIndex: number;
  readonly question: string;
  readonly query: string;
  readonly candidates: readonly Candidate[];
  readonly promptTokenIds: readonly number[];
  /** Passages shortened so that the prompt fits the model; absent: none. */
  readonly cutPassages?: number;
  readonly output: SampledTokens;
  readonly ranking: Ranking;
}

/** One retrieval step: what the agent asked, what the retriever found, what the agent was shown. */
export interface SearchStep {
  readonly query: string;
  readonly candidates: readonly Candidate[];
  /** Absent where no generative ranker took part. */
  readonly rankerCall?: RankerCall;
  /** The documents shown to the agent, in order. */
  readonly observation: readonly Document[];
}

/** An assistant turn as it was read. */
export type Action =
  | { readonly kind: "search"; readonly query: string }
  | { readonly kind: "answer"; readonly answer: string }
  | { readonly kind: "malformed"; readonly reason: string };

/** One assistant turn. */
export interface Turn {
  readonly index: number;
  /** Tokens ADDED to the context before this turn was sampled: the prompt (turn 0) or the observation of the turn before. */
  readonly promptTokenIds: readonly number[];
  readonly output: SampledTokens;
  readonly action: Action;
  readonly search?: SearchStep;
}

/**
 * Why a trajectory ended: it answered; a turn was malformed; it asked for more searches than allowed; its token budget
 * ran out; or something outside the policy failed (`infra_error`: never trained on).
 */
export type StopReason = "answered" | "malformed" | "search_limit" | "length" | "infra_error";

/** One attempt at a question: its turns until something ended it. */
export interface Trajectory {
  readonly questionId: string;
  /** 0 .. G-1 within the question's group. */
  readonly index: number;
  readonly turns: readonly Turn[];
  readonly answer?: string;
  readonly stopReason: StopReason;
  /** What failed, for `infra_error`. */
  readonly error?: string;
}

/** Items whose rewards are compared with one another. */
export interface Group<Item> {
  readonly key: string;
  /** The query that opened the group (semantic groups only). */
  readonly representativeQuery?: string;
  /** I_ans of every member (semantic groups only). */
  readonly answerInCandidates?: boolean;
  readonly members: readonly Item[];
}

/** The two policies: the agent and the ranker. */
export type PolicyName = "main" | "ranker";
