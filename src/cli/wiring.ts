/** From a configuration to what training and evaluation are made of. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { agentProtocolFor } from "../agent/agent-protocol.ts";
import type { AgentProtocol } from "../agent/protocol.ts";
import { type Config, hasRanker } from "../config.ts";
import { DataError } from "../errors.ts";
import { evenlySpaced } from "../evenly-spaced.ts";
import { createSearch, rankerProtocolFor } from "../ranker/systems.ts";
import { batchedRetriever } from "../retrieval/batched-retriever.ts";
import { resolveModel } from "../retrieval/hub/resolve-model.ts";
import { localCorpusPaths } from "../retrieval/indexing/corpus-sources.ts";
import { indexFiles } from "../retrieval/indexing/index-folder.ts";
import { type OpenRetrieverOptions, openRetriever } from "../retrieval/open-retriever.ts";
import type { Search } from "../retrieval/search.ts";
import { type Checkpoint, loadCheckpoint } from "../training/checkpoint.ts";
import { loadQuestions } from "../training/dataset.ts";
import { fingerprint } from "../training/fingerprint.ts";
import { type EffectiveSettings, preflight } from "../training/preflight.ts";
import { sharesBackbone, type Wiring } from "../training/wiring.ts";
import { requireTrainable } from "./endpoint-policy.ts";
import { checkMemory, memorySettings, planPolicies } from "./memory-check.ts";
import { openPolicies, type Purpose } from "./open-policies.ts";

/** A wired run; `close` ends its engines and its retriever. */
export interface OpenWiring {
  readonly wiring: Wiring;
  /** Of a training: what protocols, budgets and memory come to. */
  readonly settings: EffectiveSettings;
  close(): Promise<void>;
}

/**
 * Loads data, models and index; an index folder that is missing is built first.
 * @throws DataError, ModelError, ConfigError for anything that can't be used; engines already made are closed.
 */
export async function openWiring(config: Config, purpose: Purpose, options: OpenRetrieverOptions = {}): Promise<OpenWiring> {
  if (purpose === "training") {
    requireTrainable(config);
    requireQuestions(config);
  }
  const open: { close(): Promise<void> }[] = [];
  const close = async () => {
    await Promise.all(open.splice(0).map((part) => part.close()));
  };
  try {
    await requireProviders(config);
    const [trainQuestions, devQuestions] =
      purpose === "training"
        ? [await loadQuestions(config.data.train), config.data.dev === undefined ? [] : await loadQuestions(config.data.dev)]
        : [[], []];
    const opened = await openRetriever(config.retrieval, options);
    open.push(opened);
    const memory = await planPolicies(config, purpose);
    if (config.engine.checkMemory) checkMemory(memory, config);
    const { main, ranker } = await openPolicies(config, purpose, (engine) => open.push(engine));
    const wiring = {
      main,
      ...(ranker ? { ranker } : {}),
      retriever: opened.retriever,
      trainQuestions,
      devQuestions: evenlySpaced(devQuestions, config.training.devQuestions),
      inputs: purpose === "training" ? await fingerprints(config) : {},
    };
    const settings = purpose === "training" ? [...(await preflight(config, wiring)), ...memorySettings(memory)] : [];
    return { wiring, settings, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Before an index is built or a model loaded. @throws DataError naming a file of questions that isn't there. */
function requireQuestions({ data }: Config): void {
  for (const field of ["train", "dev", "test"] as const) {
    const file = data[field];
    if (file !== undefined && !existsSync(file))
      throw new DataError(`can't be read (ENOENT): correct data.${field}, or make the file`, { file });
  }
}

/** Every file and folder that a run reads, by configuration field. Of an index that is its manifest, which tells the rest. */
export async function inputPaths(config: Config): Promise<[field: string, path: string][]> {
  const inputs: Record<string, string | undefined> = {
    "data.train": config.data.train,
    "data.dev": config.data.dev,
    "data.test": config.data.test,
    ...(await passagePaths(config.retrieval)),
    "agent.model": config.agent.model,
    "agent.endpoint.tokenizer": localPath(config.agent.endpoint?.tokenizer),
    "agent.lora.from": config.agent.lora?.from,
    "ranker.model": hasRanker(config.system) ? config.ranker.model : undefined,
    "ranker.endpoint.tokenizer": hasRanker(config.system) ? localPath(config.ranker.endpoint?.tokenizer) : undefined,
    "ranker.lora.from": hasRanker(config.system) ? config.ranker.lora?.from : undefined,
  };
  return Object.entries(inputs).flatMap(([field, path]): [string, string][] => (path === undefined ? [] : [[field, path]]));
}

/** A path of this machine; a name of the Hub is no file to check. */
function localPath(nameOrPath: string | undefined): string | undefined {
  return nameOrPath !== undefined && existsSync(nameOrPath) ? nameOrPath : undefined;
}

async function passagePaths(retrieval: Config["retrieval"]): Promise<Record<string, string>> {
  const { folder } = retrieval.index;
  if (folder !== undefined) return { "retrieval.index.folder": join(folder, indexFiles.manifest) };
  const paths = await localCorpusPaths(retrieval);
  return Object.fromEntries(paths.map((path, index) => [`retrieval.corpus${paths.length > 1 ? `[${index}]` : ""}`, path]));
}

/** SHA-256 of every input of a run, by configuration field. */
export async function fingerprints(config: Config): Promise<Record<string, string>> {
  const entries = (await inputPaths(config)).map(async ([field, path]) => {
    // A model may be a name of the Hub: what counts is what lies in the cache.
    return [field, await fingerprint(field.endsWith(".model") ? await resolveModel(path) : path)] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** How a wired system answers: greedy, through the search function that training used. */
export function answeringParts(config: Config, wiring: Wiring): { readonly protocol: AgentProtocol; readonly search: Search } {
  const { main, ranker, retriever } = wiring;
  const rankerPart = ranker && { sampler: ranker.engine, protocol: rankerProtocolFor(config, ranker.renderer, ranker.contextTokens) };
  return {
    protocol: agentProtocolFor(config, main.renderer),
    search: createSearch(config, { retriever: batchedRetriever(retriever), ...(rankerPart ? { ranker: rankerPart } : {}) }, "evaluation"),
  };
}

type Policies = Pick<Wiring, "main" | "ranker">;

/** Loads a checkpoint into the engines that were trained. */
export async function loadTrained(config: Config, policies: Policies, checkpoint: Checkpoint): Promise<void> {
  const ranker = config.system === "cosearch" && !sharesBackbone(policies) ? policies.ranker?.engine : undefined;
  await loadCheckpoint(checkpoint, { main: policies.main.engine, ...(ranker ? { ranker } : {}) });
}

/** Puts a checkpoint's weights (none: the initial ones) where `sample` uses them. */
export async function publishCheckpoint(config: Config, wiring: Wiring, checkpoint?: Checkpoint): Promise<void> {
  if (checkpoint) await loadTrained(config, wiring, checkpoint);
  await Promise.all([wiring.main.engine.publish(), sharesBackbone(wiring) ? undefined : wiring.ranker?.engine.publish()]);
}

/** Before anything is loaded. The library itself is loaded only where there is more than the CPU to ask it for. */
async function requireProviders({ agent, ranker, engine: { executionProviders } }: Config): Promise<void> {
  if (agent.model === undefined && ranker.model === undefined) return;
  if (executionProviders.some((provider) => provider !== "cpu")) {
    await (await import("../onnx/providers.ts")).checkProviders(executionProviders);
  }
}
