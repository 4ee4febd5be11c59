/** The text of a first configuration, comments included. */
import { stringify } from "yaml";

/** Which model a first configuration is for. */
export const initModels = ["lora", "tiny", "endpoint"] as const;
/** One of them. */
export type InitModel = (typeof initModels)[number];

/** What is known of the user's case; what isn't is left to fill in. Paths are as the file is to name them. */
export interface InitChoice {
  readonly model: InitModel;
  /** lora: the model; endpoint: the server's address. */
  readonly name?: string;
  readonly corpus: readonly string[];
  readonly train?: string | undefined;
  readonly dev?: string | undefined;
  readonly test?: string | undefined;
  readonly embedder?: string | undefined;
  /** The package's configuration of its own tiny models. */
  readonly base: string;
}

const defaultModel = "HuggingFaceTB/SmolLM2-135M-Instruct";
const defaultServer = "http://127.0.0.1:8000/v1";

/** A value as YAML writes it in one line. */
const value = (data: string | readonly string[]): string => stringify(data, { collectionStyle: "flow", lineWidth: 0 }).trim();

/** The configuration as text. */
export function configText(choice: InitChoice): string {
  const sections = [
    head(choice),
    data(choice),
    retrieval(choice),
    ...(choice.model === "tiny" ? [] : [agent(choice), ranker(choice)]),
    training(choice),
  ];
  return `${sections.filter((text) => text !== "").join("\n\n")}\n`;
}

function head({ model, base }: InitChoice): string {
  const about = {
    lora: "# A low-rank adapter each for the agent and the ranker, over one copy of a small language model.",
    tiny: "# The package's own 1.1M-parameter models: they know nothing but countries, and show in minutes that everything works together.",
    endpoint: "# Agent and ranker are a server's: cosearch evaluate and cosearch ask work with it, training does not.",
  }[model];
  const note =
    "# Everything not named here is at its default, the paper's; `cosearch doctor --config` checks it all. Paths start at this file's folder.";
  const system =
    model === "endpoint" ? "fixed-ranker # a server's ranker is never trained" : "cosearch # or retrieval-only, fixed-ranker, oracle";
  return [about, note, ...(model === "tiny" ? [`extends: ${value(base)}`] : []), "name: mine", "seed: 1", `system: ${system}`].join("\n");
}

function data({ train, dev, test }: InitChoice): string {
  return [
    "data: # JSONL of {id, question, golden_answers[]}",
    `  train: ${value(train ?? "questions.train.jsonl")}`,
    `  dev: ${value(dev ?? test ?? train ?? "questions.dev.jsonl")} # selects the checkpoint: never the test questions`,
    `  test: ${value(test ?? dev ?? "questions.test.jsonl")}${(test ?? dev) === undefined ? " # to be made: held-out questions" : ""}`,
  ].join("\n");
}

function retrieval({ corpus, embedder, model }: InitChoice): string {
  const path = corpus.length > 1 ? value(corpus) : value(corpus[0] ?? "passages");
  const encoder =
    embedder === undefined
      ? [
          "  kind: bm25 # or dense, hybrid",
          "  # embedder: { kind: onnx, model: intfloat/e5-base-v2 } # for dense and hybrid; absent: one that needs no download",
        ]
      : ["  kind: hybrid # BM25 and vectors, fused; or dense, bm25", `  embedder: { kind: onnx, model: ${value(embedder)} }`];
  return [
    "retrieval:",
    `  corpus: ${path} # JSONL, BEIR, DPR or Parquet files, or folders of .md, .txt and .html`,
    ...encoder,
    "  index: { folder: index } # built by the first run, and used again by every later one",
    model === "endpoint"
      ? "  candidates: 20 # the ranker reads this many"
      : "  candidates: 10 # the paper's 50 make long prompts; small models see better with fewer",
  ].join("\n");
}

function agent({ model, name }: InitChoice): string {
  if (model === "endpoint") {
    return [
      "agent:",
      `  endpoint: { url: ${value(name ?? defaultServer)} } # model: NAME where it serves several; tokenizer: NAME for token ids and log-probabilities`,
      "  maxSearches: 4",
      "  maxTurnTokens: 512",
      "  maxResponseTokens: 3000 # observations included",
    ].join("\n");
  }
  return [
    "agent:",
    `  model: ${value(name ?? defaultModel)} # a folder, a GGUF file, or a name of the Hugging Face Hub`,
    "  lora: { rank: 16, alpha: 32 } # leave it out to train all weights",
    "  maxSearches: 3",
    "  maxTurnTokens: 160",
    "  maxResponseTokens: 1200 # observations included",
    "  observationCharacters: 1800",
  ].join("\n");
}

function ranker({ model, name }: InitChoice): string {
  if (model === "endpoint") return ["ranker:", `  endpoint: { url: ${value(name ?? defaultServer)} }`, "  topK: 5"].join("\n");
  return [
    "ranker:",
    `  model: ${value(name ?? defaultModel)} # the agent's: its weights are in memory once`,
    "  lora: { rank: 16, alpha: 32 }",
    "  topK: 3 # of the candidates",
    "  maxTokens: 96",
    "  passageCharacters: 400 # of each candidate",
  ].join("\n");
}

function training({ model }: InitChoice): string {
  if (model === "endpoint") return "evaluation:\n  questions: 200 # of the test questions, evenly spaced";
  if (model === "tiny")
    return ["training:", "  steps: 10", "  questionsPerStep: 8", "  questionsPerMinibatch: 8", "  evaluateEvery: 0"].join("\n");
  return [
    "reward:",
    "  cutoffs: [1, 3] # Hit@k up to the ranker's topK",
    "grpo:",
    "  groupSize: 8 # trajectories a question",
    "  klCoefficient: 0.001",
    "training:",
    "  steps: 100",
    "  questionsPerStep: 8 # the paper's 512, for a machine of this size",
    "  questionsPerMinibatch: 8",
    "  main: { learningRate: 1.0e-4 }",
    "  ranker: { learningRate: 1.0e-4 }",
    "  evaluateEvery: 20",
    "  devQuestions: 50",
    "evaluation:",
    "  questions: 200 # of the test questions, evenly spaced",
    "engine:",
    "  threads: 2",
  ].join("\n");
}
