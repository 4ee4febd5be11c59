/**
 * The one schema. Defaults are the paper's numbers (method of Sections 3-4 and Appendix A); descriptions are the CLI help
 * and the documentation. Strict: an unknown key is an error. Pure: reading files and `--set` live in cli/load-config.ts.
 */
import { z } from "zod";
import { loraTargets } from "./engine/engine.ts";

const positive = (what: string) => z.number().positive().describe(what);
const fraction = (what: string) => z.number().min(0).max(1).describe(what);
const count = (what: string) => z.int().min(1).describe(what);
/** Up to a day: longer timers overflow and end at once. */
const seconds = (what: string) => z.number().positive().max(86_400).describe(what);
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

const embedder = z.strictObject({
  kind: z
    .enum(["hashed", "onnx", "endpoint"])
    .optional()
    .describe(
      "hashed: needs no download; onnx: an encoder such as E5, run here; endpoint: an OpenAI-compatible /v1/embeddings; absent: the index folder's, or hashed",
    ),
  model: z.string().optional().describe("onnx: model folder or Hugging Face name; endpoint: the model name that is sent"),
  file: z
    .string()
    .optional()
    .describe("onnx: which graph of the folder, e.g. onnx/model_quantized.onnx; absent: model.onnx or onnx/model.onnx"),
  url: z.string().optional().describe("endpoint: base address, e.g. http://127.0.0.1:8080/v1"),
  apiKeyVariable: z.string().default("OPENAI_API_KEY").describe("endpoint: environment variable that holds the key, where one is needed"),
  dimensions: z.int().min(8).max(4096).optional().describe("hashed: dimensions; absent: the index folder's, or 384"),
  idfPower: nonNegative("hashed: exponent of the inverse document frequency; absent: the index folder's, or 1").optional(),
  queryPrefix: z.string().optional().describe("put before every query; absent: what the model's own files say"),
  documentPrefix: z.string().optional().describe("put before every passage; absent: what the model's own files say"),
  pooling: z.enum(["mean", "cls", "last"]).optional().describe("onnx: absent: what the model's own files say"),
  normalize: z.boolean().optional().describe("scale vectors to unit length; absent: what the model's own files say"),
  maxTokens: count("onnx: texts are cut at this many tokens, special ones included; absent: the model's own limit").optional(),
  batchTokens: z.int().min(16).default(1024).describe("onnx: tokens (padding included) in one pass; larger ones are slower on most CPUs"),
  batchTexts: count("endpoint: most texts in one request").default(64),
  threads: z.int().min(1).max(256).default(1).describe("onnx: compute threads"),
  concurrency: count("endpoint: most requests at once").default(4),
  timeoutSeconds: seconds("endpoint: time limit of one request").default(60),
  retries: z.int().min(0).default(5).describe("endpoint: further attempts after 429, 5xx and connection errors"),
});

/** How a vector index on disk is laid out. */
export const vectorIndexKinds = ["exact", "ivf-pq", "ivf-rq", "hnsw"] as const;
/** Metrics of vector search. */
export const metrics = ["inner-product", "cosine", "l2"] as const;

const index = z.strictObject({
  folder: z.string().optional().describe("folder of an index; built from the corpus when it is not there yet. Absent: an index in memory"),
  kind: z
    .enum(vectorIndexKinds)
    .optional()
    .describe("exact: every vector is compared; the others are approximate (LanceDB); absent: the folder's, or exact"),
  metric: z.enum(metrics).optional().describe("absent: the folder's, or inner-product"),
  location: z
    .string()
    .optional()
    .describe("LanceDB: where vectors live: a path, s3://, gs:// or az:// address, or a db:// address of LanceDB Cloud or Enterprise"),
  apiKeyVariable: z.string().default("LANCEDB_API_KEY").describe("LanceDB Cloud: environment variable that holds the key"),
  region: z.string().optional().describe("LanceDB Cloud: region"),
  hostOverride: z.string().optional().describe("LanceDB Enterprise: address of the deployment"),
  partitions: count("IVF partitions; absent: chosen from the number of passages").optional(),
  subVectors: count("ivf-pq: sub-vectors; absent: chosen from the dimensions").optional(),
  bits: z.int().min(1).max(8).optional().describe("ivf-pq: 4 or 8 bits a sub-vector; ivf-rq: bits a dimension"),
  probes: count("IVF partitions that a search reads; absent: chosen for a recall of about .95").optional(),
  refine: count("vectors re-scored exactly, as a multiple of what is asked for; absent: chosen for a recall of about .95").optional(),
  ef: count("hnsw: candidates kept while searching; absent: chosen from what is asked for").optional(),
});

const remote = z.strictObject({
  url: z.string().optional().describe("address of a retrieval server (ours or Search-R1's), e.g. http://127.0.0.1:8000"),
  tokenVariable: z.string().optional().describe("environment variable that holds the bearer token, where one is needed"),
  timeoutSeconds: seconds("time limit of one request").default(30),
  retries: z.int().min(0).default(5).describe("further attempts after 429, 5xx and connection errors"),
  concurrency: count("most requests at once").default(8),
  batchQueries: count("most queries in one request").default(64),
});

const retrieval = z.strictObject({
  corpus: z
    .union([z.string(), z.array(z.string()).min(1)])
    .optional()
    .describe("passages: JSONL, BEIR, DPR or Parquet files (.gz and .zst too), or folders of .md, .txt and .html"),
  format: z.enum(["auto", "jsonl", "dpr", "parquet", "text"]).default("auto").describe("of the corpus; auto: judged by the file's name"),
  skipBad: z.boolean().default(false).describe("count and list unusable passages instead of stopping at the first"),
  passageWords: count("folders of texts are cut into passages of about this many words").default(100),
  kind: z
    .enum(["dense", "bm25", "hybrid"])
    .optional()
    .describe("first-stage retriever; hybrid: reciprocal rank fusion of both; absent: what the index folder holds, or dense"),
  embedder: embedder.prefault({}),
  index: index.prefault({}),
  remote: remote.prefault({}),
  k1: nonNegative("BM25 k1").default(0.9),
  b: fraction("BM25 b").default(0.4),
  fusionConstant: positive("hybrid: k of 1 / (k + rank)").default(60),
  fusionDepth: count("hybrid: results of each side that are fused").default(100),
  cacheSize: z.int().min(0).default(20_000).describe("search results remembered; one of more than 50 passages counts for several; 0: none"),
  candidates: count("N: candidates the retriever returns").default(50),
});

const serving = z.strictObject({
  host: z.string().default("127.0.0.1").describe("address to listen on; 0.0.0.0: every network"),
  port: z.int().min(0).max(65535).default(8000).describe("0: any free one"),
  tokenVariable: z.string().optional().describe("environment variable that holds the bearer token clients must send; absent: none"),
  maxQueries: count("most queries in one request").default(512),
  maxQueryCharacters: count("longest query").default(8192),
  maxTopK: count("most passages a query may ask for").default(1000),
  maxBodyBytes: z.int().min(1024).default(8_388_608).describe("largest request"),
  maxWaiting: count("requests under way or waiting; further ones are refused with 503").default(1024),
  batchQueries: count("most queries of concurrent requests that are searched together").default(128),
  batchMilliseconds: nonNegative("how long a request waits for others to share its batch").default(2),
});

const lora = z.strictObject({
  rank: count("rank of the adapter's matrices").default(16),
  alpha: positive("the adapter's product is scaled by alpha / rank").default(32),
  targets: z
    .array(z.enum(loraTargets))
    .min(1)
    .default([...loraTargets])
    .describe("projections with an adapter"),
  rankStabilised: z.boolean().default(false).describe("scale by alpha / sqrt(rank) instead (rsLoRA)"),
  from: z.string().optional().describe("adapter folder to begin with, as PEFT writes it; absent: a new adapter, without effect at first"),
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

const endpoint = z.strictObject({
  url: z.string().describe("base address of an OpenAI-compatible server, e.g. http://127.0.0.1:8000/v1"),
  model: z.string().optional().describe("the name that the server knows; absent: the only one it offers"),
  mode: z
    .enum(["auto", "completions", "chat"])
    .default("auto")
    .describe("completions: prompts are token ids; chat: messages; auto: completions where a tokenizer is named"),
  tokenizer: z
    .string()
    .optional()
    .describe("folder, GGUF file or Hugging Face name with the tokenizer and chat template of the served model"),
  apiKeyVariable: z.string().default("OPENAI_API_KEY").describe("environment variable that holds the key, where one is needed"),
  contextTokens: count("longest sequence that the server takes; absent: what it tells").optional(),
  timeoutSeconds: seconds("time limit of one request").default(300),
  retries: z.int().min(0).default(5).describe("further attempts after 429, 5xx, timeouts and connection errors"),
  concurrency: count("most requests at once").default(16),
  toolRole: z.boolean().default(false).describe("chat: send documents in messages of the role tool; false: as the user's"),
  extraBody: z.record(z.string(), z.unknown()).default({}).describe("further parameters of every request, e.g. {top_k: -1}"),
});

const agent = z.strictObject({
  model: z.string().optional().describe("Hugging Face model folder or name, or GGUF file, of the main agent"),
  endpoint: endpoint.optional().describe("instead of a model: a server that samples; for evaluating and asking, never for training"),
  lora: lora.optional().describe("train a low-rank adapter over the frozen model; absent: the whole model"),
  protocol: z.enum(["cosearch", "search-r1"]).default("cosearch"),
  maxSearches: count("most searches in a trajectory").default(6),
  maxTurnTokens: count("most tokens in one assistant turn").default(1024),
  maxResponseTokens: count("most tokens in a trajectory after the question (observations included)").default(4096),
  observationCharacters: count("observation text is cut at this length").default(4096),
  ...sampling,
});

const ranker = z.strictObject({
  model: z
    .string()
    .optional()
    .describe("Hugging Face model folder or name, or GGUF file, of the ranker (needed by fixed-ranker and cosearch)"),
  endpoint: endpoint.optional().describe("instead of a model: a server that ranks; in training as a frozen ranker (fixed-ranker) only"),
  lora: lora.optional().describe("as agent.lora; with the agent's model and an adapter each, both share one copy of it in memory"),
  sharedBackbone: z
    .boolean()
    .default(false)
    .describe("one policy for both: the ranker is the agent's model (and adapter), trained by both"),
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
  executionProviders: z
    .array(z.enum(["cpu", "webgpu", "cuda"]))
    .min(1)
    .refine((providers) => new Set(providers).size === providers.length, "names a provider twice")
    .default(["cpu"])
    .describe("what onnxruntime computes with, in order of preference; tensors stay in the CPU's memory between runs"),
  microBatchTokens: z
    .int()
    .min(16)
    .default(1024)
    .describe("most tokens (padding included) in one forward-backward pass; execution auto takes 512 for models above 50M parameters"),
  execution: z
    .enum(["auto", "whole-graph", "layer-by-layer"])
    .default("auto")
    .describe("layer-by-layer needs the least memory and computes every layer twice; auto: as one graph where that stays within 3 GiB"),
  samplingWeights: z
    .enum(["f32", "int8"])
    .default("f32")
    .describe("int8: sample from a copy of the frozen weights in bytes (adapters only); faster for few sequences at once, slower for many"),
  checkMemory: z.boolean().default(true).describe("refuse to start when the models would not fit into the free memory"),
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
    serving: serving.prefault({}),
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
    for (const [path, message] of retrievalProblems(config.retrieval)) problem(["retrieval", ...path], message);
    const { corpus, index, remote } = config.retrieval;
    if (corpus === undefined && index.folder === undefined && remote.url === undefined) {
      problem(["retrieval", "corpus"], "is needed, unless retrieval.index.folder or retrieval.remote.url is given");
    }
    if (config.ranker.topK > config.retrieval.candidates) {
      problem(["ranker", "topK"], `must not exceed retrieval.candidates (${config.retrieval.candidates}), got ${config.ranker.topK}`);
    }
    for (const policy of ["agent", "ranker"] as const) {
      for (const [path, message] of endpointProblems(policy, config[policy])) problem([policy, ...path], message);
    }
    if (config.agent.model === undefined && config.agent.endpoint === undefined) {
      problem(["agent", "model"], "is missing: name a model folder, or a server in agent.endpoint");
    }
    const { sharedBackbone, ...own } = config.ranker;
    if (sharedBackbone && (own.model !== undefined || own.lora !== undefined || own.endpoint !== undefined)) {
      problem(["ranker", "sharedBackbone"], "takes the agent's model and adapter: leave ranker.model, ranker.lora and ranker.endpoint out");
    }
    if (config.ranker.sharedBackbone && config.system === "fixed-ranker") {
      problem(["ranker", "sharedBackbone"], "makes no sense with system fixed-ranker: a frozen ranker needs a model of its own");
    }
    if (hasRanker(config.system) && own.model === undefined && own.endpoint === undefined && !sharedBackbone) {
      problem(["ranker", "model"], `is needed by system ${config.system}: name a model folder`);
    }
    if (config.training.questionsPerMinibatch > config.training.questionsPerStep) {
      problem(["training", "questionsPerMinibatch"], `must not exceed training.questionsPerStep (${config.training.questionsPerStep})`);
    }
    if (config.training.evaluateEvery > 0 && config.data.dev === undefined) {
      problem(["data", "dev"], "is needed when training.evaluateEvery is set");
    }
  });

/** What `cosearch index` and `cosearch serve retrieval` read of a configuration file: its other sections are let be. */
export const retrievalConfigSchema = z
  .object({ retrieval: retrieval.prefault({}), serving: serving.prefault({}) })
  .superRefine((config, context) => {
    for (const [path, message] of retrievalProblems(config.retrieval)) {
      context.addIssue({ code: "custom", path: ["retrieval", ...path], message });
    }
  });

/** Parameters of a request that other settings say. */
const ownParameters = "model prompt messages n stream max_tokens max_completion_tokens temperature top_p seed stop logprobs".split(" ");

/** What contradicts itself where an endpoint stands for a model: path below the policy's section and message. */
function endpointProblems(
  name: "agent" | "ranker",
  { endpoint, ...policy }: z.infer<typeof agent> | z.infer<typeof ranker>,
): [path: string[], message: string][] {
  if (endpoint === undefined) return [];
  const problems: [string[], string][] = [];
  if (policy.model !== undefined) problems.push([["endpoint"], `excludes ${name}.model: name a model to run here, or a server`]);
  if (policy.lora !== undefined)
    problems.push([["lora"], "is for models run here: let the server load the adapter, and name it in endpoint.model"]);
  if (policy.grammar) problems.push([["grammar"], "is for models run here: a server applies no token grammar; set it to false"]);
  if (endpoint.mode === "completions" && endpoint.tokenizer === undefined) {
    problems.push([["endpoint", "tokenizer"], "is needed by mode completions: name the folder of the served model's tokenizer"]);
  }
  if (endpoint.mode === "chat" && endpoint.tokenizer !== undefined) {
    problems.push([["endpoint", "tokenizer"], "is for mode completions: in chat the server tokenizes"]);
  }
  for (const name of Object.keys(endpoint.extraBody).filter((key) => ownParameters.includes(key))) {
    problems.push([["endpoint", "extraBody", name], "is set by other settings of the agent, the ranker or the endpoint"]);
  }
  return problems;
}

/** What contradicts itself in a retrieval section: path below it and message. */
function retrievalProblems(section: z.infer<typeof retrieval>): [path: string[], message: string][] {
  const problems: [string[], string][] = [];
  const { corpus, embedder, index, remote, kind } = section;
  const { kind: embedderKind = "hashed" } = embedder;
  const { kind: indexKind = "exact" } = index;
  if (remote.url !== undefined && (corpus !== undefined || index.folder !== undefined)) {
    problems.push([["remote", "url"], "excludes retrieval.corpus and retrieval.index.folder: name the server or the data"]);
  }
  if (kind !== "bm25" && embedderKind !== "hashed" && embedder.model === undefined) {
    const example =
      embedderKind === "onnx" ? "a folder or a Hugging Face name, e.g. intfloat/e5-base-v2" : "the name that the server knows";
    problems.push([["embedder", "model"], `is needed by the ${embedderKind} embedder: ${example}`]);
  }
  if (embedderKind === "endpoint" && embedder.url === undefined) {
    problems.push([["embedder", "url"], "is needed by the endpoint embedder, e.g. http://127.0.0.1:8080/v1"]);
  }
  if (indexKind !== "exact" && index.folder === undefined) {
    problems.push([["index", "folder"], `is needed by index kind ${indexKind}: name the folder to keep it in`]);
  }
  if (embedder.kind === undefined && embedder.model !== undefined) {
    problems.push([["embedder", "kind"], "is needed beside embedder.model: onnx (an encoder run here) or endpoint (a server)"]);
  }
  if (index.location !== undefined && (index.kind === "exact" || index.folder === undefined)) {
    problems.push([["index", "location"], "is for LanceDB: choose index kind ivf-pq, ivf-rq or hnsw"]);
  }
  return problems;
}

/** A checked configuration, all defaults filled in. */
export type Config = z.infer<typeof configSchema>;
/** What a configuration file may contain: every field with a default may be left out. */
export type ConfigInput = z.input<typeof configSchema>;
/** The checked `retrieval` section. */
export type RetrievalConfig = z.infer<typeof retrieval>;
/** The checked `retrieval.embedder` section. */
export type EmbedderConfig = z.infer<typeof embedder>;
/** The checked section `agent.endpoint` or `ranker.endpoint`. */
export type EndpointConfig = z.infer<typeof endpoint>;
/** The checked `serving` section. */
export type ServingConfig = z.infer<typeof serving>;
/** How similar two vectors are; see `metrics`. */
export type Metric = (typeof metrics)[number];
/** See `vectorIndexKinds`. */
export type VectorIndexKind = (typeof vectorIndexKinds)[number];
