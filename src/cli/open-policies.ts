/** The models of a run: with endpoint-policy.ts the one place that names a concrete engine. */
import { type Config, type EndpointConfig, hasRanker } from "../config.ts";
import type { EmbeddedEngine, PolicyOptions } from "../engine/embedded/embedded-engine.ts";
import { loadRenderer } from "../engine/hf-renderer.ts";
import { ModelError } from "../errors.ts";
import { resolveModel } from "../retrieval/hub/resolve-model.ts";
import { deriveSeed } from "../rng.ts";
import type { PolicyWiring, Wiring } from "../training/wiring.ts";
import { endpointPolicy } from "./endpoint-policy.ts";

/** What the models are for: training needs reference engines, answering does not. */
export type Purpose = "training" | "answering";

/** The configured part of a policy. */
type PolicyConfig = { readonly model: string; readonly lora?: NonNullable<Config["agent"]["lora"]> | undefined };

/** An open policy whose frozen weights others may share. */
interface OpenPolicy extends PolicyWiring {
  readonly engine: EmbeddedEngine;
}

/**
 * Opens agent and ranker. Where both are adapters of the same model, its weights are in memory once.
 * @param opened Called for every engine as soon as it is open, so that a later failure leaves none behind.
 * @throws ModelError naming the field whose model or adapter can't be used; InfrastructureError for a server that can't be
 * reached.
 */
export async function openPolicies(
  config: Config,
  purpose: Purpose,
  opened: (engine: { close(): Promise<void> }) => void,
): Promise<Pick<Wiring, "main" | "ranker">> {
  const training = purpose === "training";
  const open = async (field: "agent" | "ranker", policy: PolicyConfig, trains: boolean, beside?: OpenPolicy): Promise<OpenPolicy> => {
    try {
      const modelFolder = beside === undefined ? await resolveModel(policy.model) : undefined;
      const own = policyOptions(policy, trains, deriveSeed(config.seed, "adapter", field));
      // First, since it looks whether tokenizer and model belong together.
      const renderer = modelFolder === undefined ? (beside as OpenPolicy).renderer : await loadRenderer(modelFolder);
      const engine = await (modelFolder === undefined ? (beside as OpenPolicy).engine.beside(own) : newEngine(config, modelFolder, own));
      opened(engine);
      const wiring = { engine, renderer, contextTokens: engine.shape.maxPositions };
      if (!trains || config.grpo.klCoefficient === 0) return wiring;
      const initial = policyOptions(policy, false, 0);
      // An adapter's weights are frozen: what it started from is still there, beside it.
      const reference =
        policy.lora === undefined
          ? await newEngine(config, modelFolder as string, initial)
          : await engine.beside(policy.lora.from === undefined ? {} : initial);
      opened(reference);
      return { ...wiring, reference };
    } catch (error) {
      if (error instanceof ModelError) throw new ModelError(`${field}.model: ${error.message}`, { cause: error });
      throw error;
    }
  };
  const serve = async (field: "agent" | "ranker", endpoint: EndpointConfig): Promise<PolicyWiring> => {
    const policy = await endpointPolicy(field, endpoint);
    opened(policy.engine);
    return policy;
  };
  const { agent, ranker } = config;
  const own = agent.model === undefined ? undefined : await open("agent", { model: agent.model, lora: agent.lora }, training);
  const main = own ?? (await serve("agent", agent.endpoint as EndpointConfig));
  if (!hasRanker(config.system)) return { main };
  if (ranker.sharedBackbone) return { main, ranker: main };
  if (ranker.endpoint !== undefined) return { main, ranker: await serve("ranker", ranker.endpoint) };
  const { model, lora } = ranker;
  if (model === undefined) return { main };
  const shares = agent.lora !== undefined && model === agent.model && (lora !== undefined || config.system === "fixed-ranker");
  return { main, ranker: await open("ranker", { model, lora }, training && config.system === "cosearch", shares ? own : undefined) };
}

function policyOptions({ lora }: PolicyConfig, trainable: boolean, adapterSeed: number): PolicyOptions {
  if (lora === undefined) return { trainable };
  const { from, ...shape } = lora;
  return { lora: shape, trainable, ...(from === undefined ? { adapterSeed } : { adapterFolder: from }) };
}

async function newEngine(config: Config, modelFolder: string, policy: PolicyOptions): Promise<EmbeddedEngine> {
  // Loaded late: help and error messages need no native library.
  const { createEmbeddedEngine } = await import("../engine/embedded/embedded-engine.ts");
  const { threads, executionProviders, microBatchTokens, execution, samplingWeights, prefixCacheMegabytes } = config.engine;
  return createEmbeddedEngine({
    modelFolder,
    threads,
    executionProviders,
    microBatchTokens,
    execution,
    samplingWeights,
    prefixCacheMegabytes,
    ...policy,
  });
}
