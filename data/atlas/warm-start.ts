/**
 * Rebuilds the warm-start checkpoints from scratch: tokenizer, agent, ranker, then models.json. `npm run atlas:warm-start` (more than
 * half an hour with one thread; `--threads 2` is quicker, with other last bits). Options: --output FOLDER (default: this folder), --only PART,... of tokenizer, agent, ranker,
 * first-hops, quality, manifest, --agent-steps N, --ranker-steps N, --ranker-stop HIT, --first-hop-steps N, --threads N,
 * --report-every N (agent only).
 * Prints the quality on dev questions as it goes and on held-out questions at the end. `--only manifest` rewrites models.json for the
 * checkpoints that are there; give it the options that they were trained with.
 */
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { writeTokenizer } from "../../src/engine/bpe-trainer.ts";
import { createEmbeddedEngine, type EmbeddedEngine } from "../../src/engine/embedded/embedded-engine.ts";
import { writeJsonAtomically } from "../../src/files/json-file.ts";
import { Rng } from "../../src/rng.ts";
import { type Demonstration, warmStart } from "../../src/training/warm-start.ts";
import { agentDemonstration, rankerDemonstration } from "./demonstrations.ts";
import { modelsManifest } from "./models-manifest.ts";
import { type Quality, quality } from "./quality.ts";
import { atlasFolder, loadSetting, type Setting } from "./setting.ts";
import { maxPositions, trainAtlasTokenizer, vocabularySize } from "./tokenizer.ts";
import { type AtlasQuestion, AtlasWorld } from "./world.ts";

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
  queryKeyNorm: false,
  tiedHead: true,
};

interface PhaseOptions {
  readonly engine: EmbeddedEngine;
  readonly policy: "main" | "ranker";
  /** Names the random stream of the demonstrations. */
  readonly stream: string;
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
        Array.from({ length: batchSize }, (_, index) => options.demonstrate(Rng.stream(seed, "warm-start", options.stream, step, index))),
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

const parts = ["tokenizer", "agent", "ranker", "first-hops", "quality", "manifest"] as const;

interface WarmStartRun {
  readonly parts: ReadonlySet<string>;
  readonly agentFolder: string;
  readonly rankerFolder: string;
  readonly agentSteps: number;
  readonly rankerSteps: number;
  readonly rankerStop: number;
  readonly firstHopSteps: number;
  readonly threads: number;
  readonly reportEvery: number;
}

async function trainAgent(run: WarmStartRun, setting: Setting): Promise<void> {
  const agent = await createEmbeddedEngine({
    shape,
    seed,
    initialDeviation: 0.04,
    tokenizerFolder: run.agentFolder,
    threads: run.threads,
    microBatchTokens,
  });
  const pick = questionPicker(setting.world.questions("train"));
  await phase({
    engine: agent,
    policy: "main",
    stream: "main",
    steps: run.agentSteps,
    learningRate: 2.5e-3,
    reportEvery: run.reportEvery,
    demonstrate: (rng) => agentDemonstration(pick(rng), setting.tools, rng),
    report: async () => {
      const unaided = await quality(setting, "retrieval-only", agent, undefined);
      const oracle = await quality(setting, "oracle", agent, undefined);
      return { ...unaided, line: `${unaided.line}\n  ${oracle.line}` };
    },
  });
  await agent.exportModel(run.agentFolder);
  await agent.close();
}

interface RankerCourse {
  /** Names the random stream of the demonstrations. */
  readonly stream: string;
  /** The model folder to start from. */
  readonly from: string;
  readonly steps: number;
  readonly learningRate: number;
  readonly stopAtHitAt1?: number;
  readonly firstHopShare: number;
}

/** The ranker starts from the agent's weights, which know the vocabulary and how to copy. */
const mainCourse = (run: WarmStartRun): RankerCourse => ({
  stream: "ranker",
  from: run.agentFolder,
  steps: run.rankerSteps,
  learningRate: 2e-3,
  stopAtHitAt1: run.rankerStop,
  firstHopShare: 0.4,
});

/** A short second course: a ranker that only knows final answers does harm where a bridge is asked for. */
const firstHopCourse = (run: WarmStartRun): RankerCourse => ({
  stream: "ranker-first-hops",
  from: run.rankerFolder,
  steps: run.firstHopSteps,
  learningRate: 1e-3,
  firstHopShare: 0.6,
});

async function trainRanker(run: WarmStartRun, setting: Setting, { from, firstHopShare, ...course }: RankerCourse): Promise<void> {
  const agent = await createEmbeddedEngine({ modelFolder: run.agentFolder, threads: run.threads });
  const ranker = await createEmbeddedEngine({ modelFolder: from, threads: run.threads, microBatchTokens });
  const pick = questionPicker(setting.world.questions("train"));
  await phase({
    engine: ranker,
    policy: "ranker",
    ...course,
    reportEvery: 50,
    demonstrate: (rng) => rankerDemonstration(pick(rng), setting.tools, rng, { firstHopShare, promptWeight: 0, auxiliaryWeight: 1 }),
    report: async () => quality(setting, "fixed-ranker", agent, ranker),
  });
  await ranker.exportModel(run.rankerFolder);
  await ranker.close();
  await agent.close();
}

async function printHeldOutQuality(run: WarmStartRun, setting: Setting): Promise<void> {
  const agent = await createEmbeddedEngine({ modelFolder: run.agentFolder, threads: run.threads });
  const ranker = await createEmbeddedEngine({ modelFolder: run.rankerFolder, threads: run.threads });
  console.log("held-out questions:");
  console.log(`  ${(await quality(setting, "retrieval-only", agent, undefined, "test")).line}`);
  console.log(`  ${(await quality(setting, "fixed-ranker", agent, ranker, "test")).line}`);
  console.log(`  ${(await quality(setting, "oracle", agent, undefined, "test")).line}`);
  await ranker.close();
  await agent.close();
}

function chosenParts(only: string | undefined): ReadonlySet<string> {
  const chosen = only === undefined ? parts : only.split(",");
  const unknown = chosen.find((part) => !(parts as readonly string[]).includes(part));
  if (unknown !== undefined) throw new Error(`--only names no part ${JSON.stringify(unknown)}: choose among ${parts.join(", ")}`);
  return new Set(chosen);
}

function numberOption(name: string, text: string, isRight: (value: number) => boolean, what: string): number {
  const value = Number(text);
  if (!isRight(value)) throw new Error(`--${name} must be ${what}, got ${JSON.stringify(text)}`);
  return value;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      output: { type: "string", default: atlasFolder },
      only: { type: "string" },
      "agent-steps": { type: "string", default: "2000" },
      "ranker-steps": { type: "string", default: "800" },
      "ranker-stop": { type: "string", default: "0.6" },
      "first-hop-steps": { type: "string", default: "50" },
      threads: { type: "string", default: "1" },
      "report-every": { type: "string", default: "500" },
    },
  });
  const count = (name: "agent-steps" | "ranker-steps" | "first-hop-steps" | "threads" | "report-every") =>
    numberOption(name, values[name], (value) => Number.isInteger(value) && value >= 1, "an integer of at least 1");
  const output = resolve(values.output);
  const run: WarmStartRun = {
    parts: chosenParts(values.only),
    agentFolder: join(output, "agent"),
    rankerFolder: join(output, "ranker"),
    agentSteps: count("agent-steps"),
    rankerSteps: count("ranker-steps"),
    rankerStop: numberOption("ranker-stop", values["ranker-stop"], (value) => value >= 0, "a Hit@1 of at least 0"),
    firstHopSteps: count("first-hop-steps"),
    threads: count("threads"),
    reportEvery: count("report-every"),
  };
  if (run.parts.has("tokenizer")) {
    await writeTokenizer(run.agentFolder, trainAtlasTokenizer(new AtlasWorld(atlasFolder)));
    console.log(`tokenizer: ${vocabularySize} entries`);
  }
  if (["agent", "ranker", "first-hops", "quality"].some((part) => run.parts.has(part))) {
    const setting = await loadSetting(run.agentFolder);
    if (run.parts.has("agent")) await trainAgent(run, setting);
    if (run.parts.has("ranker")) await trainRanker(run, setting, mainCourse(run));
    if (run.parts.has("first-hops")) await trainRanker(run, setting, firstHopCourse(run));
    if (run.parts.has("quality")) await printHeldOutQuality(run, setting);
  }
  if (run.parts.has("manifest")) {
    const training = {
      agent: { seed, steps: run.agentSteps },
      ranker: { seed, steps: run.rankerSteps, stopAtHitAt1: run.rankerStop, firstHopSteps: run.firstHopSteps },
    };
    await writeJsonAtomically(join(output, "models.json"), modelsManifest(output, training));
    console.log("models.json: the SHA-256 of every checkpoint file");
  }
}

await main();
