/** Our side of `npm run bench -- engine` and `models`, in a process of its own; the requests are those of peers/engine_peer.py. */
import { createEmbeddedEngine } from "../src/engine/embedded/embedded-engine.ts";
import type { TrainableEngine, TrainingExample } from "../src/engine/engine.ts";
import { Rng } from "../src/rng.ts";
import { answerLines } from "./line-process.ts";
import { timeMatmul } from "./matmul-peak.ts";
import type { EngineArgument, LoadedArgument } from "./options.ts";

const argument = JSON.parse(process.argv[2] as string) as EngineArgument | LoadedArgument;
const engine = await createEmbeddedEngine(argument);
const rng = new Rng(argument.seed);
const randomIds = (count: number) => Array.from({ length: count }, () => 3 + rng.integer(engine.shape.vocabularySize - 3));

function supervised(length: number, weight: number): TrainingExample {
  const tokenIds = randomIds(length);
  const unused = tokenIds.map(() => 0);
  const mask = tokenIds.map((_, index): 0 | 1 => (index === 0 ? 0 : 1));
  return {
    policy: "main",
    groupKey: "",
    tokenIds,
    mask,
    logprobs: unused,
    advantages: unused,
    weights: mask.map((trained) => trained * weight),
  };
}

/** Full-token cross-entropy, global-norm clip 1, one AdamW update a step. */
async function train(trainer: TrainableEngine, batch: number, length: number, steps: number): Promise<number[]> {
  const seconds: number[] = [];
  for (let step = 0; step < steps; step++) {
    const examples = Array.from({ length: batch }, () => supervised(length, 1 / (batch * (length - 1))));
    const start = performance.now();
    await trainer.forwardBackward(examples, { kind: "cross-entropy" });
    await trainer.optimStep({ learningRate: 1e-3, beta1: 0.9, beta2: 0.98, eps: 1e-8, weightDecay: 0.01, maxGradNorm: 1 });
    seconds.push((performance.now() - start) / 1000);
  }
  return seconds;
}

/** Temperature 1, no stop token: every sequence gets its full length. */
async function sample(trainer: TrainableEngine, batch: number, prompt: number, tokens: number): Promise<number[]> {
  await trainer.publish();
  const prompts = Array.from({ length: batch }, () => randomIds(prompt));
  const start = performance.now();
  const outputs = await Promise.all(
    prompts.map((promptTokenIds) => trainer.sample({ promptTokenIds, maxTokens: tokens, seed: rng.integer(2 ** 31) })),
  );
  const seconds = (performance.now() - start) / 1000;
  for (const [output] of outputs) {
    if (output?.tokenIds.length !== tokens) throw new Error(`a sequence has ${output?.tokenIds.length} tokens instead of ${tokens}`);
  }
  return [seconds];
}

await answerLines({ node: process.version }, async (request) => {
  const size = (name: string) => request[name] as number;
  let seconds: number[];
  if (request["task"] === "train") seconds = await train(engine, size("batch"), size("length"), size("steps"));
  else if (request["task"] === "sample") seconds = await sample(engine, size("batch"), size("prompt"), size("tokens"));
  else seconds = await timeMatmul(size("size"), size("repeats"), argument.threads);
  return { seconds, peakMemoryBytes: process.resourceUsage().maxRSS * 1024 };
});
await engine.close();
