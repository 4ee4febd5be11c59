/** Our side of `npm run bench -- grpo`, in a process of its own; the requests are those of peers/trl_peer.py. */
import { createEmbeddedEngine } from "../src/engine/embedded/embedded-engine.ts";
import type { TrainableEngine, TrainingExample } from "../src/engine/engine.ts";
import { groupAdvantages } from "../src/grpo/advantages.ts";
import { Rng } from "../src/rng.ts";
import { answerLines } from "./line-process.ts";
import type { EngineArgument } from "./options.ts";

/** Sizes of a step: `prompts` questions of `prompt` tokens, `samples` completions of `tokens` tokens each. */
export interface GrpoArgument extends EngineArgument {
  readonly prompts: number;
  readonly samples: number;
  readonly prompt: number;
  readonly tokens: number;
  readonly klCoefficient: number;
}

const argument = JSON.parse(process.argv[2] as string) as GrpoArgument;
const { shape, threads, seed } = argument;
const engine = await createEmbeddedEngine({ shape, threads, seed });
/** The same weights, never updated. */
const reference = await createEmbeddedEngine({ shape, threads, seed });
const rng = new Rng(seed);

/** The completions of one prompt as training examples; the reward is the share of even tokens. */
async function rollOut(policy: TrainableEngine): Promise<TrainingExample[]> {
  const promptTokenIds = Array.from({ length: argument.prompt }, () => 3 + rng.integer(shape.vocabularySize - 3));
  const outputs = await policy.sample({
    promptTokenIds,
    samples: argument.samples,
    maxTokens: argument.tokens,
    seed: rng.integer(2 ** 31),
  });
  const advantages = groupAdvantages(outputs.map(({ tokenIds }) => tokenIds.filter((id) => id % 2 === 0).length / tokenIds.length));
  const before = promptTokenIds.map(() => 0);
  return outputs.map(({ tokenIds, logprobs }, index) => ({
    policy: "main",
    groupKey: "",
    tokenIds: [...promptTokenIds, ...tokenIds],
    mask: [...before.map((): 0 => 0), ...tokenIds.map((): 1 => 1)],
    logprobs: [...before, ...logprobs],
    advantages: [...before, ...tokenIds.map(() => advantages[index] as number)],
    weights: [...before, ...tokenIds.map(() => 1 / (tokenIds.length * argument.prompts * argument.samples))],
  }));
}

/** Rollouts, rewards, reference log-probabilities, loss and gradient, one update. */
async function step(): Promise<void> {
  const rollouts = (await Promise.all(Array.from({ length: argument.prompts }, () => rollOut(engine)))).flat();
  const referenceLogprobs = await reference.logprobs(rollouts);
  const examples = rollouts.map((example, index) => ({ ...example, referenceLogprobs: referenceLogprobs[index] as number[] }));
  await engine.forwardBackward(examples, { kind: "clipped-surrogate", clipLow: 0.2, clipHigh: 0.2, klCoefficient: argument.klCoefficient });
  await engine.optimStep({ learningRate: 1e-4, beta1: 0.9, beta2: 0.999, eps: 1e-8, weightDecay: 0, maxGradNorm: 1 });
  await engine.publish();
}

await answerLines({ node: process.version }, async (request) => {
  const seconds: number[] = [];
  for (let count = 0; count < (request["steps"] as number); count++) {
    const start = performance.now();
    await step();
    seconds.push((performance.now() - start) / 1000);
  }
  return { seconds, peakMemoryBytes: process.resourceUsage().maxRSS * 1024 };
});
await Promise.all([engine.close(), reference.close()]);
