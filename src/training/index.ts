/** Entry point `cosearch/training`: training runs, and what agents and rankers are made of. */
export { agentProtocolFor } from "../agent/agent-protocol.ts";
export { type GreedyRolloutsRequest, greedyRollouts } from "../agent/greedy-rollouts.ts";
export type { AgentProtocol } from "../agent/protocol.ts";
export { type RolloutLimits, type RolloutRequest, rollout } from "../agent/rollout.ts";
export { loadConfig } from "../cli/load-config.ts";
export { type OpenWiring, openWiring } from "../cli/wiring.ts";
export type { RankerProtocol } from "../ranker/prompt.ts";
export { createSearch, rankerProtocolFor, type SystemParts } from "../ranker/systems.ts";
export { batchedRetriever } from "../retrieval/batched-retriever.ts";
export type { Search, SearchRequest } from "../retrieval/search.ts";
export { type Checkpoint, type DevScores, listCheckpoints, loadCheckpoint, selectedCheckpoint } from "./checkpoint.ts";
export { loadQuestions } from "./dataset.ts";
export { fingerprint } from "./fingerprint.ts";
export type { StepMetrics } from "./metrics.ts";
export { type StepContext, type StepResult, trainStep } from "./step.ts";
export { type TrainProgress, type TrainRequest, type TrainResult, train } from "./trainer.ts";
export { type Demonstration, type WarmStartOptions, type WarmStartReport, warmStart } from "./warm-start.ts";
export type { PolicyWiring, Wiring } from "./wiring.ts";
