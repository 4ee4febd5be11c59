/**
 * Rebuilds the warm-start checkpoints from scratch: tokenizer, agent, ranker. `npm run atlas:warm-start` (about a quarter of an
 * hour on two cores). Options: --output FOLDER (default: this folder), --only tokenizer,agent,ranker,quality (any of them), --agent-steps N,
 * --ranker-steps N, --ranker-stop HIT, --threads N, --report-every N. Prints the quality on dev questions
 * as it goes and on held-out questions at the end.
 */
import { rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { agentProtocolFor } from "../../src/agent/agent-protocol.ts";
import { loadConfig } from "../../src/cli/load-config.ts";
import type { Config, SystemName } from "../../src/config.ts";
import { writeTokenizer } from "../../src/engine/bpe-trainer.ts";
import { createEmbeddedEngine, type EmbeddedEngine } from "../../src/engine/embedded/embedded-engine.ts";
import { loadRenderer } from "../../src/engine/hf-renderer.ts";
import type { Renderer } from "../../src/engine/renderer.ts";
import { evaluate } from "../../src/evaluation/evaluate.ts";
import { createSearch, rankerProtocolFor } from "../../src/ranker/systems.ts";
import { createRetriever } from "../../src/retrieval/create-retriever.ts";
import type { Retriever } from "../../src/retrieval/retriever.ts";
import { Rng } from "../../src/rng.ts";
import { evenlySpaced } from "../../src/training/dataset.ts";
import { type Demonstration, warmStart } from "../../src/training/warm-start.ts";
import { agentDemonstration, type DemonstrationTools, rankerDemonstration } from "./demonstrations.ts";
import { NameForge } from "./splice.ts";
import { maxPositions, trainAtlasTokenizer, vocabularySize } from "./tokenizer.ts";
import { type AtlasQuestion, AtlasWorld } from "./world.ts";

const here = dirname(fileURLToPath(import.meta.url));
const seed = 1;
const batchSize = 32;
const microBatchTokens = 2048;
const shape = {
  architecture: "llama" as const,
  vocabularySize,
  hiddenSize: 128,
  layers: 4,
  heads: 4,
  keyValueHeads: 4,
  headSize: 32,
  intermediateSize: 384,
  rmsNormEps: 1e-5,
  ropeTheta: 10000,
  maxPositions,
  qkvBias: false,
  tiedHead: true,
};

interface Setting {
  readonly config: Config;
  readonly world: AtlasWorld;
  readonly retriever: Retriever;
  readonly renderer: Renderer;
  readonly tools: DemonstrationTools;
}

async function prepare(output: string): Promise<Setting> {
  const config = loadConfig({ file: join(here, "../../configs/atlas.yaml") });
  const world = new AtlasWorld(here);
  const retriever = await createRetriever(config.retrieval, world.documents);
  const renderer = await loadRenderer(join(output, "agent"));
  const ranker = rankerProtocolFor(config, renderer);
  const tools: DemonstrationTools = {
    world,
    renderer,
    protocol: agentProtocolFor(config, renderer),
    rankerPrompt: (question, query, documents) =>
      ranker.promptTokens(
        question,
        query,
        documents.map((document, index) => ({ document, score: 0, rank: index + 1 })),
      ),
    candidates: async (query) => (await retriever.search([query], config.retrieval.candidates))[0] ?? [],
    forge: new NameForge(world.names()),
    topK: config.ranker.topK,
    maxSearches: config.agent.maxSearches,
    spliceShare: 0.5,
    contextWeight: 0.2,
  };
  return { config, world, retriever, renderer, tools };
}

interface Quality {
  readonly line: string;
  readonly hitAt1: number;
}

/** One line of dev quality: answer F1, searches, and Hit@1/K where an answer was among the candidates. */
async function quality(
  setting: Setting,
  system: SystemName,
  agent: EmbeddedEngine,
  ranker: EmbeddedEngine | undefined,
  split: "dev" | "test" = "dev",
): Promise<Quality> {
  const config = { ...setting.config, system };
  const { retriever, renderer } = setting;
  const search = createSearch(
    config,
    { retriever, ...(ranker ? { ranker: { sampler: ranker, protocol: rankerProtocolFor(config, renderer) } } : {}) },
    "evaluation",
  );
  const questions = evenlySpaced(setting.world.questions(split), split === "dev" ? 300 : 800);
  const records = await evaluate({
    questions,
    protocol: setting.tools.protocol,
    sampler: agent,
    search,
    limits: config.agent,
    scoring: { answerProfile: config.data.answerProfile, reward: config.reward },
    batchQuestions: 128,
  });
  const average = (values: readonly number[]) => (values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length);
  const mean = (values: readonly number[]) => average(values).toFixed(3);
  const steps = records.flatMap((record) => record.turns.flatMap((turn) => turn.search ?? []));
  const answerable = steps.filter((step) => step.answerInCandidates);
  const hitAt1 = average(answerable.map((step) => (step.hitAt1 ? 1 : 0)));
  const line = [
    `${system} F1 ${mean(records.map((record) => record.f1))}`,
    `EM ${mean(records.map((record) => record.em))}`,
    `searches ${mean(records.map((record) => record.searches))}`,
    `format ${mean(records.map((record) => (record.formatValid ? 1 : 0)))}`,
    `answer among candidates ${mean(steps.map((step) => (step.answerInCandidates ? 1 : 0)))}`,
    `Hit@1 ${hitAt1.toFixed(3)}`,
    `Hit@${config.ranker.topK} ${mean(answerable.map((step) => (step.hitAtK ? 1 : 0)))}`,
  ].join(", ");
  return { line, hitAt1 };
}

interface PhaseOptions {
  readonly engine: EmbeddedEngine;
  readonly policy: "main" | "ranker";
  readonly steps: number;
  readonly learningRate: number;
  readonly reportEvery: number;
  readonly demonstrate: (rng: Rng) => Promise<Demonstration>;
  readonly report: () => Promise<Quality>;
  /** The training ends at the first report whose Hit@1 is at least this. */
  readonly stopAtHitAt1?: number;
}

async function phase(options: PhaseOptions): Promise<void> {
  const start = performance.now();
  let tokens = 0;
  let average: number | undefined;
  await warmStart({
    engine: options.engine,
    policy: options.policy,
    steps: options.steps,
    learningRate: options.learningRate,
    warmupSteps: Math.min(80, Math.ceil(options.steps / 10)),
    constantFraction: 0.6,
    batch: (step) =>
      Promise.all(
        Array.from({ length: batchSize }, (_, index) => options.demonstrate(Rng.stream(seed, "warm-start", options.policy, step, index))),
      ),
    onStep: async ({ step, loss, tokens: added }) => {
      tokens += added;
      average = average === undefined ? loss : 0.95 * average + 0.05 * loss;
      if (step % 50 !== 0 && step !== options.steps) return "go on";
      const seconds = (performance.now() - start) / 1000;
      const left = (seconds / step) * (options.steps - step);
      console.log(
        `${options.policy} step ${step}/${options.steps} loss ${average.toFixed(4)} ${(tokens / 1e6).toFixed(2)}M tokens ` +
          `${Math.round(tokens / seconds)} tokens/s, ${Math.round(seconds)} s, about ${Math.round(left)} s left`,
      );
      if (step % options.reportEvery !== 0 && step !== options.steps) return "go on";
      await options.engine.publish();
      const { line, hitAt1 } = await options.report();
      console.log(`  ${line}`);
      return hitAt1 >= (options.stopAtHitAt1 ?? Number.POSITIVE_INFINITY) ? "stop" : "go on";
    },
  });
}

/** Half one-hop, half two-hop. */
function questionPicker(questions: readonly AtlasQuestion[]): (rng: Rng) => AtlasQuestion {
  const byHops = [questions.filter((question) => question.hops === 1), questions.filter((question) => question.hops === 2)];
  return (rng) => rng.pick(byHops[rng.integer(2)] as AtlasQuestion[]);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      output: { type: "string", default: here },
      only: { type: "string" },
      "agent-steps": { type: "string", default: "2000" },
      "ranker-steps": { type: "string", default: "800" },
      "ranker-stop": { type: "string", default: "0.6" },
      threads: { type: "string", default: "1" },
      "report-every": { type: "string", default: "500" },
    },
  });
  const output = resolve(values.output);
  const parts = values.only === undefined ? ["tokenizer", "agent", "ranker", "quality"] : values.only.split(",");
  const agentFolder = join(output, "agent");
  const rankerFolder = join(output, "ranker");
  if (parts.includes("tokenizer")) {
    await writeTokenizer(agentFolder, trainAtlasTokenizer(new AtlasWorld(here)));
    console.log(`tokenizer: ${vocabularySize} entries`);
  }
  const setting = await prepare(output);
  const threads = Number(values.threads);
  const reportEvery = Number(values["report-every"]);
  const questions = setting.world.questions("train");
  if (parts.includes("agent")) {
    const agent = await createEmbeddedEngine({
      shape,
      seed,
      initialDeviation: 0.04,
      tokenizerFolder: agentFolder,
      threads,
      microBatchTokens,
    });
    const pick = questionPicker(questions);
    await phase({
      engine: agent,
      policy: "main",
      steps: Number(values["agent-steps"]),
      learningRate: 2.5e-3,
      reportEvery,
      demonstrate: (rng) => agentDemonstration(pick(rng), setting.tools, rng),
      report: async () => {
        const unaided = await quality(setting, "retrieval-only", agent, undefined);
        const oracle = await quality(setting, "oracle", agent, undefined);
        return { ...unaided, line: `${unaided.line}\n  ${oracle.line}` };
      },
    });
    await agent.exportModel(agentFolder);
    await agent.close();
  }
  if (parts.includes("ranker")) {
    const agent = await createEmbeddedEngine({ modelFolder: agentFolder, threads });
    const ranker = await createEmbeddedEngine({ modelFolder: agentFolder, threads, microBatchTokens });
    const pick = questionPicker(questions);
    await phase({
      engine: ranker,
      policy: "ranker",
      steps: Number(values["ranker-steps"]),
      learningRate: 2e-3,
      reportEvery: 50,
      stopAtHitAt1: Number(values["ranker-stop"]),
      demonstrate: (rng) => rankerDemonstration(pick(rng), setting.tools, rng, { promptWeight: 0, auxiliaryWeight: 1 }),
      report: async () => quality(setting, "fixed-ranker", agent, ranker),
    });
    rmSync(rankerFolder, { recursive: true, force: true });
    await ranker.exportModel(rankerFolder);
    await ranker.close();
    await agent.close();
  }
  if (parts.includes("quality")) {
    const agent = await createEmbeddedEngine({ modelFolder: agentFolder, threads });
    const ranker = await createEmbeddedEngine({ modelFolder: rankerFolder, threads });
    console.log("held-out questions:");
    console.log(`  ${(await quality(setting, "retrieval-only", agent, undefined, "test")).line}`);
    console.log(`  ${(await quality(setting, "fixed-ranker", agent, ranker, "test")).line}`);
    console.log(`  ${(await quality(setting, "oracle", agent, undefined, "test")).line}`);
    await ranker.close();
    await agent.close();
  }
}

await main();
