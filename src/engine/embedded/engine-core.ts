/** The embedded engine without its thread: trainer and sampler over the same weights. Calls must not overlap. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ConfigError, ModelError } from "../../errors.ts";
import type { SampledTokens } from "../../types.ts";
import type { ForwardBackwardResult, Loss, OptimStepOptions, ScoredSequence, TrainingExample } from "../engine.ts";
import { isGguf } from "../gguf/gguf-file.ts";
import { checkVocabulary, loadRenderer } from "../hf-renderer.ts";
import type { Renderer } from "../renderer.ts";
import type { ModelShape } from "./architecture.ts";
import { loadEngineState, saveEngineState } from "./engine-state.ts";
import { loadModelFolder, writeModelFolder } from "./hf-folder.ts";
import { Parameters } from "./parameters.ts";
import { EmbeddedSampler } from "./sampler.ts";
import type { SamplerRequest } from "./sampling-sequence.ts";
import { EmbeddedTrainer } from "./trainer.ts";

/** Where the model comes from, and how it runs. Plain data. */
export interface EmbeddedEngineOptions {
  /** A Hugging Face model folder; instead of it `shape` and `seed` make a new model. */
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
  /** Tokens (padding included) in one forward-backward pass. Default 1024. */
  readonly microBatchTokens?: number;
  readonly execution?: "auto" | "whole-graph" | "layer-by-layer";
  /** Keys and values of finished sequences kept for reuse within one policy version. Default 256. */
  readonly prefixCacheMegabytes?: number;
}

/** See TrainableEngine for what the verbs mean. */
export class EmbeddedEngineCore {
  policyVersion = 0;
  /** False after an optimiser step, until `publish`. */
  private published = true;

  private constructor(
    readonly shape: ModelShape,
    private readonly parameters: Parameters,
    private readonly trainer: EmbeddedTrainer,
    private readonly sampler: EmbeddedSampler,
    private readonly renderer: Renderer | undefined,
    private readonly source: string | undefined,
  ) {}

  /** @throws ConfigError for options that contradict one another, ModelError for a folder that can't be used. */
  static async create(options: EmbeddedEngineOptions): Promise<EmbeddedEngineCore> {
    const parameters = await parametersOf(options);
    const { shape } = parameters;
    const source = options.tokenizerFolder ?? options.modelFolder;
    let renderer: Renderer | undefined;
    if (source !== undefined && (options.tokenizerFolder !== undefined || isGguf(source) || existsSync(join(source, "tokenizer.json")))) {
      renderer = await loadRenderer(source);
      checkVocabulary(renderer, shape.vocabularySize, source);
    }
    const { threads = 1, microBatchTokens = 1024, execution = "auto", prefixCacheMegabytes = 256 } = options;
    const trainer = new EmbeddedTrainer(shape, parameters, { threads, microBatchTokens, execution });
    const decode = renderer === undefined ? undefined : (tokenIds: readonly number[]) => renderer.decode(tokenIds);
    const sampler = await EmbeddedSampler.create(parameters, { threads, prefixCacheMegabytes, decode });
    return new EmbeddedEngineCore(shape, parameters, trainer, sampler, renderer, source);
  }

  /** One batch; an Error in the place of a request that failed. */
  async sample(requests: readonly SamplerRequest[]): Promise<(SampledTokens[] | Error)[]> {
    if (!this.published) {
      const error = new ModelError("sample: the weights were changed by optimStep and not published since: call publish() first");
      return requests.map(() => error);
    }
    return this.sampler.sample(requests);
  }

  logprobs(sequences: readonly ScoredSequence[]): Promise<number[][]> {
    return this.trainer.logprobs(sequences);
  }

  forwardBackward(examples: readonly TrainingExample[], loss: Loss): Promise<ForwardBackwardResult> {
    return this.trainer.forwardBackward(examples, loss);
  }

  async optimStep(options: OptimStepOptions): Promise<{ gradientNorm: number; step: number }> {
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
    const { policyVersion, published } = this;
    await saveEngineState(folder, this.parameters, { step: this.trainer.state().step, policyVersion, published });
  }

  async loadState(folder: string): Promise<void> {
    const { parameters, counters } = await loadEngineState(folder, this.shape);
    const { weights, firstMoments, secondMoments } = parameters;
    this.trainer.restore({ weights, firstMoments, secondMoments, step: counters.step });
    this.policyVersion = counters.policyVersion;
    this.usePublished();
    this.published = counters.published;
  }

  async exportModel(folder: string): Promise<void> {
    await writeModelFolder(folder, this.parameters, { source: this.source, endTokenIds: this.renderer?.stopTokenIds });
  }

  private usePublished(): void {
    this.published = true;
    this.sampler.policyVersion = this.policyVersion;
    this.sampler.useWeights();
  }
}

async function parametersOf({ modelFolder, shape, seed, initialDeviation }: EmbeddedEngineOptions): Promise<Parameters> {
  if ((modelFolder === undefined) === (shape === undefined)) {
    throw new ConfigError("createEmbeddedEngine needs either modelFolder (a Hugging Face folder) or shape and seed (a new model)");
  }
  if (modelFolder !== undefined) return loadModelFolder(modelFolder);
  if (seed === undefined) throw new ConfigError("createEmbeddedEngine: a new model needs a seed");
  const parameters = new Parameters(shape as ModelShape);
  parameters.initialise(seed, initialDeviation);
  return parameters;
}
