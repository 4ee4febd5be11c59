/**
 * The one schema. Defaults are the paper's numbers (method of Sections 3-4 and Appendix A); descriptions are the CLI help
 * and the documentation. Strict: an unknown key is an error. Pure: reading files and `--set` live in cli/load-config.ts.
 */
import { z } from "zod";

const positive = (what: string) => z.number().positive().describe(what);
const fraction = (what: string) => z.number().min(0).max(1).describe(what);
const count = (what: string) => z.int().min(1).describe(what);
const nonNegative = (what: string) => z.number().min(0).describe(what);

/** The four retrieval systems of the study (Section 4). */
export const systemNames = ["retrieval-only", "fixed-ranker", "cosearch", "oracle"] as const;
/** Name of a retrieval system. */
export type SystemName = (typeof systemNames)[number];

/** Whether the system has a generative ranker. */
export function hasRanker(system: SystemName): boolean {
  return system === "cosearch" || system === "fixed-ranker";
}

const data = z.strictObject({
  train: z.string().describe("training questions: JSONL of {id, question, golden_answers[], dataset?, split?}"),
  dev: z.string().optional().describe("questions that select the checkpoint and feed the alarm"),
  test: z.string().describe("held-out questions of the result table"),
  answerProfile: z.enum(["squad", "unicode", "cjk"]).default("squad").describe("how answers are normalised before F1 and EM"),
});

const retrieval = z.strictObject({
  corpus: z.string().describe("passages: JSONL of {id, title, text}"),
  kind: z.enum(["dense", "bm25"]).default("dense").describe("first-stage retriever"),
  dimensions: z.int().min(8).max(4096).default(384).describe("dimensions of the download-free embedder"),
  idfPower: nonNegative("exponent of the inverse document frequency in the download-free embedder").default(1),
  k1: nonNegative("BM25 k1").default(0.9),
  b: fraction("BM25 b").default(0.4),
  candidates: count("N: candidates the retriever returns").default(50),
});

const sampling = {
  temperature: nonNegative("sampling temperature while training; 0 = greedy").default(1),
  topP: z.number().gt(0).max(1).describe("nucleus mass").default(1),
  grammar: z.boolean().default(false).describe("mask tokens that the protocol forbids, in sampling and scoring alike"),
  prompt: z
    .enum(["full", "compact"])
    .default("full")
    .describe("full: written instructions; compact: bare fields, for tiny models trained on them"),
};

const agent = z.strictObject({
  model: z.string().describe("Hugging Face model folder of the main agent"),
  protocol: z.enum(["cosearch", "search-r1"]).default("cosearch"),
  maxSearches: count("most searches in a trajectory").default(6),
  maxTurnTokens: count("most tokens in one assistant turn").default(1024),
  maxResponseTokens: count("most tokens in a trajectory after the question (observations included)").default(4096),
  observationCharacters: count("observation text is cut at this length").default(4096),
  ...sampling,
});

const ranker = z.strictObject({
  model: z.string().optional().describe("Hugging Face model folder of the ranker (needed by fixed-ranker and cosearch)"),
  topK: count("K: documents shown to the agent").default(5),
  maxTokens: count("most tokens in a ranker output").default(1024),
  passageCharacters: count("each passage shown to the ranker is cut at this length").default(2000),
  ...sampling,
});

const grouping = z.strictObject({
  kind: z.enum(["semantic", "question"]).default("semantic").describe("question: the ablation without semantic grouping"),
  similarityThreshold: fraction("δ (Eq. 5): token F1 at which a query joins a group").default(0.8),
  minGroupSize: z.int().min(2).describe("k_min (Alg. 2): smaller groups are dropped").default(3),
});

const reward = z.strictObject({
  preset: z.enum(["paper", "reference"]).default("paper").describe("comparison rule of Eq. 6"),
  formatPenalty: nonNegative("α (Eq. 4, 6)").default(0.2),
  relevanceThreshold: fraction("γ (Eq. 6); absent: the preset's").optional(),
  relevance: z.enum(["hit", "ndcg"]).default("hit").describe("r_rel: mean Hit@k, or the ablation's nDCG@k"),
  cutoffs: z.array(z.int().min(1)).min(1).default([1, 3, 5]).describe("k of Hit@k in r_rel"),
  terms: z.enum(["both", "relevance", "main"]).default("both").describe("which terms of Eq. 6 stay (ablations)"),
});

const grpo = z.strictObject({
  groupSize: z.int().min(2).describe("G: trajectories a question").default(8),
  clipLow: fraction("ε below (Eq. 3)").default(0.2),
  clipHigh: nonNegative("ε above (Eq. 3)").default(0.2),
  dualClip: z.number().gt(1).nullable().default(3).describe("lower bound factor for negative advantages; null: none"),
  klCoefficient: nonNegative("β of the k3 divergence from the reference policy").default(0.001),
  aggregation: z
    .enum(["token-mean", "sequence-mean", "sequence-sum"])
    .default("token-mean")
    .describe("how token losses are averaged; sequence-sum is Eq. 3 as printed"),
});

const policyTraining = z.strictObject({
  learningRate: positive("peak learning rate").default(1e-6),
  entropyCoefficient: nonNegative(
    "entropy bonus, over the tokens of groups with unequal rewards (over all tokens where klCoefficient > 0)",
  ).default(0),
  beta1: fraction("AdamW").default(0.9),
  beta2: fraction("AdamW").default(0.999),
  eps: positive("AdamW").default(1e-8),
  weightDecay: nonNegative("AdamW, decoupled").default(0.01),
  maxGradNorm: positive("global gradient norm clip").default(1),
});

const training = z.strictObject({
  steps: count("joint training steps").default(100),
  questionsPerStep: count("questions a rollout batch").default(512),
  questionsPerMinibatch: count("questions an optimiser step; a step makes ceil(questionsPerStep / this) of them").default(128),
  warmupFraction: fraction("share of optimiser steps with rising learning rate").default(0.04),
  schedule: z.enum(["constant", "linear", "cosine"]).default("constant").describe("after warm-up"),
  finalLearningRateFraction: fraction("where a linear or cosine schedule ends, as a share of the peak").default(0.1),
  main: policyTraining.prefault({}),
  ranker: policyTraining.prefault({}),
  excludeFormatFailures: z
    .boolean()
    .default(true)
    .describe("leave ranker calls of trajectories with a main format failure out (paper); false: score them 0 (reference)"),
  supervisedAnchor: nonNegative("weight of a cross-entropy term on the best trajectory of each group; 0: off").default(0),
  checkpointEvery: count("steps between checkpoints").default(10),
  keepCheckpoints: count("how many of the newest checkpoints stay (the best one always stays)").default(2),
  evaluateEvery: z.int().min(0).default(0).describe("steps between dev evaluations that select the checkpoint; 0: the last step is taken"),
  devQuestions: count("dev questions an evaluation uses").default(200),
});

const alarm = z.strictObject({
  enabled: z.boolean().default(true),
  window: count("steps of the moving averages").default(10),
  minFormatValidity: fraction("stop when either policy's format validity falls below").default(0.5),
  maxRewardDrop: positive("stop when the mean main reward falls this far below its best moving average").default(0.3),
  maxKl: positive("stop when the mean k3 divergence of either policy rises above").default(10),
  minEntropy: nonNegative("stop when either policy's entropy falls below").default(0),
});

const evaluation = z.strictObject({
  questions: z.int().min(1).nullable().default(null).describe("how many test questions (evenly spaced); null: all"),
  batchQuestions: count("questions rolled out at once").default(128),
  bootstrapSamples: count("resamples for intervals").default(2000),
});

const engine = z.strictObject({
  kind: z.enum(["embedded"]).default("embedded"),
  threads: z.int().min(1).max(256).default(1).describe("compute threads of one engine"),
  microBatchTokens: z.int().min(16).default(1024).describe("tokens (padding included) in one forward-backward pass"),
  execution: z
    .enum(["auto", "whole-graph", "layer-by-layer"])
    .default("auto")
    .describe("layer-by-layer keeps memory low for larger models"),
  prefixCacheMegabytes: nonNegative("keys and values of finished sequences kept for reuse within one policy version").default(256),
});

/** All of a run's configuration. */
export const configSchema = z
  .strictObject({
    name: z.string().default("run").describe("shown in reports"),
    note: z.string().optional().describe("shown in reports, e.g. that this is a shortened run"),
    seed: z.int().min(0).max(4294967295).default(1).describe("one seed; every use draws from its own named stream"),
    system: z.enum(systemNames).default("cosearch").describe("which retrieval system the agent trains with"),
    data,
    retrieval,
    agent,
    ranker: ranker.prefault({}),
    grouping: grouping.prefault({}),
    reward: reward.prefault({}),
    grpo: grpo.prefault({}),
    training: training.prefault({}),
    alarm: alarm.prefault({}),
    evaluation: evaluation.prefault({}),
    engine: engine.prefault({}),
  })
  .superRefine((config, context) => {
    const problem = (path: string[], message: string) => context.addIssue({ code: "custom", path, message });
    if (config.ranker.topK > config.retrieval.candidates) {
      problem(["ranker", "topK"], `must not exceed retrieval.candidates (${config.retrieval.candidates}), got ${config.ranker.topK}`);
    }
    if (hasRanker(config.system) && config.ranker.model === undefined) {
      problem(["ranker", "model"], `is needed by system ${config.system}: name a model folder`);
    }
    if (config.training.questionsPerMinibatch > config.training.questionsPerStep) {
      problem(["training", "questionsPerMinibatch"], `must not exceed training.questionsPerStep (${config.training.questionsPerStep})`);
    }
    if (config.training.evaluateEvery > 0 && config.data.dev === undefined) {
      problem(["data", "dev"], "is needed when training.evaluateEvery is set");
    }
  });

/** A checked configuration, all defaults filled in. */
export type Config = z.infer<typeof configSchema>;
/** What a configuration file may contain: every field with a default may be left out. */
export type ConfigInput = z.input<typeof configSchema>;
