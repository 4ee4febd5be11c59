/** The public algorithms: pure and synchronous. Engines, retrieval and evaluation have entry points of their own. */

export type { AgentProtocolName } from "./agent/parse-turn.ts";
export { parseTurn } from "./agent/parse-turn.ts";
export { type Config, type ConfigInput, configSchema } from "./config.ts";
export { AlarmError, ConfigError, DataError, InfrastructureError, ModelError, PromptTooLongError, RunFolderError } from "./errors.ts";
export type { GroupableCall, GroupingOptions } from "./grouping/semantic-groups.ts";
export { questionGroups, semanticGroups } from "./grouping/semantic-groups.ts";
export { groupAdvantages } from "./grpo/advantages.ts";
export type { SurrogateOptions, SurrogateResult, SurrogateToken } from "./grpo/loss.ts";
export { clippedSurrogate } from "./grpo/loss.ts";
export type { ParseRankingOptions } from "./ranker/parse-ranking.ts";
export { parseRanking } from "./ranker/parse-ranking.ts";
export type { MainOutcome, MainReward } from "./reward/main-reward.ts";
export { mainReward } from "./reward/main-reward.ts";
export type { RankerOutcome, RankerReward, RankerRewardOptions, RankerRewardPreset } from "./reward/ranker-reward.ts";
export { rankerReward } from "./reward/ranker-reward.ts";
export { ndcg, relevanceReward } from "./reward/relevance.ts";
export type { AnswerProfile } from "./text.ts";
export { containsAnswer, coverMatch, exactMatch, isTrivialAnswer, normalizeAnswer, normalizeQuery, tokenF1 } from "./text.ts";
export type {
  Action,
  Candidate,
  Document,
  Group,
  PolicyName,
  Question,
  RankerCall,
  Ranking,
  SampledTokens,
  SearchStep,
  StopReason,
  Trajectory,
  Turn,
} from "./types.ts";
