/** The embedded engine without its thread: trainer and sampler over the same weights. Calls must not overlap. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ConfigError, ModelError } from "../../errors.ts";
import { checkProviders, type ExecutionProvider } from "../../onnx/providers.ts";
import { useProviders } from "../../onnx/session.ts";
import type { SampledTokens } from "../../types.ts";
import type { ForwardBackwardResult, LoraShape, Loss, OptimStepOptions, ScoredSequence, TrainingExample } from "../engine.ts";
import { isGguf } from "../gguf/gguf-file.ts";
import { checkVocabulary, loadRenderer } from "../hf-renderer.ts";
import type { Renderer } from "../renderer.ts";
import type { ModelShape } from "./architecture.ts";
import { loadEngineState, saveEngineState } from "./engine-state.ts";
import { loadModelFolder, writeModelFolder } from "./hf-folder.ts";
import { AdapterParameters, canonicalLora } from "./lora.ts";
import { Parameters } from "./parameters.ts";
import { readAdapterFolder, writeAdapterFolder } from "./peft-folder.ts";
import { EmbeddedSampler } from "./sampler.ts";
import type { SamplerRequest } from "./sampling-sequence.ts";
import { TrainedModel } from "./trained-model.ts";
import { EmbeddedTrainer } from "./trainer.ts";

/** What of a model is trained. */
export interface PolicyOptions {
  /** A new low-rank adapter over the frozen weights, or where `adapterFolder` is given the shape that it must have. */
  readonly lora?: LoraShape;
  /** Of a new adapter. Default 0. */
  readonly adapterSeed?: number;
  /** An adapter to begin with, as PEFT writes it. */
  readonly adapterFolder?: string;
  /** False: nothing is trained, and a quarter of the memory does. Default true. */
  readonly trainable?: boolean;
}

/** Where the model comes from, and how it runs. Plain data. */
export interface EmbeddedEngineOptions extends PolicyOptions {
  /** A Hugging Face model folder or a GGUF file; instead of it `shape` and `seed` make a new model. */
  readonly modelFolder?: string;
  readonly shape?: ModelShape;
  /** Of the random weights of a new model. */
  readonly seed?: number;
  /** Standard deviation of the random weights. Default 0.02. */
  readonly initialDeviation?: number;
  /** Where tokenizer.json is, if not in the model folder: needed for text, stop strings and a complete export. */
  readonly tokenizerFolder?: string;
  /** Compute threads. Default 1. */
  readonly threads?: number;
  /** What of the machine computes, in order of preference. Default the CPU. */
  readonly executionProviders?: readonly ExecutionProvider[];
  /** Tokens (padding included) in one forward-backward pass. Default 1024. */
  readonly microBatchTokens?: number;
  readonly execution?: "auto" | "whole-graph" | "layer-by-layer";
  /**
   * int8: tokens are sampled from a copy of the frozen weights in bytes, which is faster for few sequences at once; where something is trained
   * on them, their log-probabilities are the trained model's own, at temperature 1. Default f32.
   */
  readonly samplingWeights?: "f32" | "int8";
  /** Keys and values of finished sequences kept for reuse within one policy version. Default 256. */
  readonly prefixCacheMegabytes?: number;
}

/** See TrainableEngine for what the verbs mean. */
export class EmbeddedEngineCore {
  policyVersion = 0;
  /** False after an optimiser step, until `publish`. */
  private published = true;

  private constructor(
    private readonly options: EmbeddedEngineOptions,
    private readonly model: TrainedModel,
    private readonly renderer: Renderer | undefined,
    private readonly trainer: EmbeddedTrainer,
    private readonly sampler: EmbeddedSampler,
  ) {}

  /** @throws ConfigError for options that contradict one another, ModelError for a folder that can't be used. */
  static async create(options: EmbeddedEngineOptions): Promise<EmbeddedEngineCore> {
    const { executionProviders = ["cpu"] } = options;
    await checkProviders(executionProviders);
    useProviders(executionProviders);
    const base = await parametersOf(options);
    return EmbeddedEngineCore.over(base, options, await rendererOf(options, base.shape));
  }

  private static async over(base: Parameters, options: EmbeddedEngineOptions, renderer: Renderer | undefined): Promise<EmbeddedEngineCore> {
    const adapter = await adapterOf(options, base.shape);
    const { threads = 1, microBatchTokens = 1024, execution = "auto", prefixCacheMegabytes = 256, samplingWeights } = options;
    if (samplingWeights === "int8" && base.gradients.length > 0) {
      throw new ConfigError(
        "engine.samplingWeights: int8 needs frozen weights: train adapters (agent.lora, ranker.lora), or leave it at f32",
      );
    }
    const trainer = new EmbeddedTrainer(base.shape, base, { threads, microBatchTokens, execution, adapter });
    const decode = renderer === undefined ? undefined : (tokenIds: readonly number[]) => renderer.decode(tokenIds);
    const sampler = await EmbeddedSampler.create(base, { threads, prefixCacheMegabytes, decode, adapter, samplingWeights });
    return new EmbeddedEngineCore(options, new TrainedModel(base, adapter), renderer, trainer, sampler);
  }

  get shape(): ModelShape {
    return this.model.shape;
  }

  /**
   * Another policy over the same frozen weights: an adapter, or the model as it is.
   * @throws ConfigError when this engine trains the weights themselves.
   */
  beside(policy: PolicyOptions): Promise<EmbeddedEngineCore> {
    const { base } = this.model;
    if (base.gradients.length > 0) {
      throw new ConfigError(
        "this engine trains the whole model: policies share weights only where these are frozen (lora, or trainable: false)",
      );
    }
    const { lora: _, adapterFolder: __, adapterSeed: ___, ...shared } = this.options;
    return EmbeddedEngineCore.over(base, { ...shared, trainable: false, ...policy }, this.renderer);
  }

  /** One batch; an Error in the place of a request that failed. */
  async sample(requests: readonly SamplerRequest[]): Promise<(SampledTokens[] | Error)[]> {
    if (!this.published) {
      const error = new ModelError("sample: the weights were changed by optimStep and not published since: call publish() first");
      return requests.map(() => error);
    }
    const results = await this.sampler.sample(requests);
    return this.options.samplingWeights === "int8" && this.model.trainable.gradients.length > 0
      ? this.rescored(requests, results)
      : results;
  }

  /** The same tokens with the log-probabilities that the trainer gives them, so that importance ratios begin at 1. */
  private async rescored(
    requests: readonly SamplerRequest[],
    results: readonly (SampledTokens[] | Error)[],
  ): Promise<(SampledTokens[] | Error)[]> {
    const sequences = results.flatMap((outputs, index) =>
      outputs instanceof Error ? [] : outputs.map((output) => sequenceOf(requests[index] as SamplerRequest, output)),
    );
    const scores = await this.trainer.logprobs(sequences);
    let next = 0;
    return results.map((outputs) => {
      if (outputs instanceof Error) return outputs;
      return outputs.map((output) => ({ ...output, logprobs: (scores[next++] as number[]).slice(-output.tokenIds.length) }));
    });
  }

  logprobs(sequences: readonly ScoredSequence[]): Promise<number[][]> {
    return this.trainer.logprobs(sequences);
  }

  async forwardBackward(examples: readonly TrainingExample[], loss: Loss): Promise<ForwardBackwardResult> {
    this.checkTrainable("forwardBackward");
    return this.trainer.forwardBackward(examples, loss);
  }

  async optimStep(options: OptimStepOptions): Promise<{ gradientNorm: number; step: number }> {
    this.checkTrainable("optimStep");
    const result = this.trainer.optimStep(options);
    this.published = false;
    return result;
  }

  async publish(): Promise<number> {
    this.policyVersion += 1;
    this.usePublished();
    return this.policyVersion;
  }

  async saveState(folder: string): Promise<void> {
    this.checkTrainable("saveState");
    const { policyVersion, published } = this;
    await saveEngineState(folder, this.model, { step: this.trainer.state().step, policyVersion, published });
  }

  async loadState(folder: string): Promise<void> {
    const { parameters, counters } = await loadEngineState(folder, this.model);
    const { weights, firstMoments, secondMoments } = parameters;
    this.trainer.restore({ weights, firstMoments, secondMoments, step: counters.step });
    this.policyVersion = counters.policyVersion;
    this.usePublished();
    this.published = counters.published;
  }

  /** The whole model, an adapter merged into its weights. */
  async exportModel(folder: string): Promise<void> {
    const { tokenizerFolder, modelFolder } = this.options;
    await writeModelFolder(folder, this.model, { source: tokenizerFolder ?? modelFolder, endTokenIds: this.renderer?.stopTokenIds });
  }

  /** @throws ConfigError when there is no adapter. */
  async exportAdapter(folder: string, baseModel: string): Promise<void> {
    const { adapter } = this.model;
    if (adapter === undefined) throw new ConfigError("exportAdapter: this engine has no adapter: use exportModel");
    await writeAdapterFolder(folder, adapter, baseModel);
  }

  /** Frees the sessions. */
  async close(): Promise<void> {
    await this.trainer.close();
    await this.sampler.release();
  }

  private checkTrainable(verb: string): void {
    if (this.model.trainable.gradients.length === 0) throw new ConfigError(`${verb}: this engine's weights are frozen (trainable: false)`);
  }

  private usePublished(): void {
    this.published = true;
    this.sampler.policyVersion = this.policyVersion;
    this.sampler.useWeights();
  }
}

function sequenceOf({ promptTokenIds, grammar }: SamplerRequest, { tokenIds }: SampledTokens): ScoredSequence {
  const mask = [...promptTokenIds.map((): 0 => 0), ...tokenIds.map((): 1 => 1)];
  return { tokenIds: [...promptTokenIds, ...tokenIds], mask, ...(grammar ? { grammar } : {}) };
}

async function parametersOf(options: EmbeddedEngineOptions): Promise<Parameters> {
  const { modelFolder, shape, seed, initialDeviation, lora, adapterFolder } = options;
  if ((modelFolder === undefined) === (shape === undefined)) {
    throw new ConfigError("createEmbeddedEngine needs either modelFolder (a Hugging Face folder) or shape and seed (a new model)");
  }
  const trainable = lora === undefined && adapterFolder === undefined && (options.trainable ?? true);
  if (modelFolder !== undefined) return loadModelFolder(modelFolder, { trainable });
  if (seed === undefined) throw new ConfigError("createEmbeddedEngine: a new model needs a seed");
  const parameters = new Parameters(shape as ModelShape, { trainable });
  parameters.initialise(seed, initialDeviation);
  return parameters;
}

async function adapterOf(options: PolicyOptions, shape: ModelShape): Promise<AdapterParameters | undefined> {
  const { lora, adapterFolder, adapterSeed = 0, trainable = true } = options;
  if (adapterFolder !== undefined) {
    const adapter = await readAdapterFolder(adapterFolder, shape, { trainable });
    if (lora !== undefined) checkSameLora(adapter.lora, canonicalLora(lora), adapterFolder);
    return adapter;
  }
  if (lora === undefined) return undefined;
  const adapter = new AdapterParameters(shape, canonicalLora(lora), { trainable });
  adapter.initialise(adapterSeed);
  return adapter;
}

function checkSameLora(found: LoraShape, wanted: LoraShape, folder: string): void {
  for (const field of ["rank", "alpha", "rankStabilised", "targets"] as const) {
    const [has, wants] = [found, wanted].map((lora) => JSON.stringify(lora[field] ?? false));
    if (has !== wants)
      throw new ConfigError(`${folder}: the adapter's ${field} is ${has}, ${wants} is asked for: change the setting, or leave it out`);
  }
}

async function rendererOf({ tokenizerFolder, modelFolder }: EmbeddedEngineOptions, shape: ModelShape): Promise<Renderer | undefined> {
  const source = tokenizerFolder ?? modelFolder;
  const hasTokenizer =
    source !== undefined && (tokenizerFolder !== undefined || isGguf(source) || existsSync(join(source, "tokenizer.json")));
  if (!hasTokenizer) return undefined;
  const renderer = await loadRenderer(source);
  checkVocabulary(renderer, shape.vocabularySize, source);
  return renderer;
}
