/** Whether a run's models fit into memory, told before any of them is loaded. */
import { type Config, hasRanker } from "../config.ts";
import type { ModelShape } from "../engine/embedded/architecture.ts";
import type { MemoryPlan, MemoryQuestion } from "../engine/embedded/memory-plan.ts";
import { ConfigError, ModelError } from "../errors.ts";
import { resolveModel } from "../retrieval/hub/resolve-model.ts";
import { bytesText, thisMachine } from "../retrieval/indexing/estimate.ts";
import type { EffectiveSettings } from "../training/preflight.ts";
import type { Purpose } from "./open-policies.ts";

/** A policy's plan. */
export interface PolicyMemory {
  readonly policy: "agent" | "ranker";
  readonly plan: MemoryPlan;
}

/** Characters of English text in a token, at least: what budgets in characters come to. */
const charactersPerToken = 3;
/** Tokens of instructions and question in a prompt. */
const promptTokens = 600;
/** The sampler's most sequences at once. */
const sampledAtOnce = 256;

/**
 * What the models of a configuration will take.
 * @throws ModelError, ConfigError for a model that can't be read.
 */
export async function planPolicies(config: Config, purpose: Purpose): Promise<PolicyMemory[]> {
  const { agent, ranker, retrieval, training, grpo, engine } = config;
  const trains = purpose === "training";
  const trajectories = trains ? training.questionsPerStep * grpo.groupSize : config.evaluation.batchQuestions;
  const common = {
    execution: engine.execution,
    microBatchTokens: engine.microBatchTokens,
    prefixCacheMegabytes: engine.prefixCacheMegabytes,
    samplingWeights: engine.samplingWeights,
    sampledSequences: Math.min(sampledAtOnce, trajectories),
  };
  // Loaded late: help and error messages need no native library.
  const { planMemory } = await import("../engine/embedded/memory-plan.ts");
  const plans: PolicyMemory[] = [];
  /** A policy and, where a divergence is to be computed, the frozen model that it is compared with. */
  const add = async (policy: PolicyMemory["policy"], model: string, asked: Omit<MemoryQuestion, "shape" | keyof typeof common>) => {
    const shape = await shapeOf(policy, model);
    const question = { shape, ...common, ...asked, longestSequence: Math.min(asked.longestSequence, shape.maxPositions) };
    plans.push({ policy, plan: planMemory(question) });
    if (!asked.trainable || grpo.klCoefficient === 0) return;
    const frozen = { ...question, lora: undefined, trainable: false, sharesWeights: asked.lora !== undefined };
    plans.push({ policy, plan: planMemory(frozen) });
  };
  if (agent.model !== undefined) {
    await add("agent", agent.model, { lora: agent.lora, trainable: trains, longestSequence: agent.maxResponseTokens + promptTokens });
  }
  if (hasRanker(config.system) && ranker.model !== undefined) {
    const passages = (retrieval.candidates * ranker.passageCharacters) / charactersPerToken;
    await add("ranker", ranker.model, {
      lora: ranker.lora,
      trainable: trains && config.system === "cosearch",
      longestSequence: Math.ceil(passages) + promptTokens + ranker.maxTokens,
      sharesWeights: agent.lora !== undefined && agent.model === ranker.model,
    });
  }
  return plans;
}

/** @throws ModelError, ConfigError naming the field. */
async function shapeOf(policy: PolicyMemory["policy"], model: string): Promise<ModelShape> {
  try {
    const { readModelShape } = await import("../engine/embedded/hf-folder.ts");
    return await readModelShape(await resolveModel(model));
  } catch (error) {
    if (error instanceof ModelError) throw new ModelError(`${policy}.model: ${error.message}`, { cause: error });
    if (error instanceof ConfigError) throw new ConfigError(`${policy}.model: ${error.message}`, { cause: error });
    throw error;
  }
}

/** The plans as settings to show. */
export function memorySettings(plans: readonly PolicyMemory[]): EffectiveSettings {
  return plans.map((one) => [`${one.policy} memory`, planText(one)] as const);
}

function planText({ plan }: PolicyMemory): string {
  const parts = {
    weights: plan.weights,
    optimiser: plan.optimiser,
    activations: plan.activations,
    "keys and values": plan.keyValueCache,
  };
  const listed = Object.entries(parts).flatMap(([name, bytes]) => (bytes > 0 ? [`${name} ${bytesText(bytes)}`] : []));
  return `at most about ${bytesText(plan.total)} (${listed.join(", ")}), ${plan.execution}`;
}

/** @throws ConfigError when the plans together exceed the free memory, naming what would help most. */
export function checkMemory(plans: readonly PolicyMemory[], config: Config, freeBytes = thisMachine.freeMemory()): void {
  const needed = plans.reduce((sum, { plan }) => sum + plan.total, 0);
  if (needed <= freeBytes) return;
  const sum = (part: (plan: MemoryPlan) => number) => plans.reduce((total, { plan }) => total + part(plan), 0);
  const optimiser = sum(({ optimiser }) => optimiser);
  const activations = sum((plan) => plan.activations);
  const advice = [
    ...(optimiser > needed / 4 && config.agent.lora === undefined
      ? ["train adapters instead of whole models (agent.lora, ranker.lora)"]
      : []),
    ...(activations > needed / 4
      ? ["lower engine.microBatchTokens, agent.maxResponseTokens or ranker.passageCharacters", "set engine.execution to layer-by-layer"]
      : []),
    "lower engine.prefixCacheMegabytes",
    "take a smaller model",
    "end other programs, or use a larger machine",
  ];
  const list = plans.map((one) => `\n  ${one.policy}: ${planText(one)}`).join("");
  throw new ConfigError(
    `the models need about ${bytesText(needed)} of memory, ${bytesText(freeBytes)} are free:${list}\n${advice.join("; ")}; or go on all the same with --set engine.checkMemory=false`,
  );
}
