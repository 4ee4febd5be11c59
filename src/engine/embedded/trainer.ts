import type { ForwardBackwardResult, Loss, OptimStepOptions, ScoredSequence, TrainingExample } from "../engine.ts";
import { adamWStep } from "./adamw.ts";
import type { ModelShape } from "./architecture.ts";
import type { Executor, TokenScores } from "./executor.ts";
import { FittingExecutor } from "./fitting-executor.ts";
import type { FlatParameters } from "./flat-parameters.ts";
import { GrammarRows } from "./grammar-replay.ts";
import { LayerExecutor } from "./layer-executor.ts";
import type { AdapterParameters } from "./lora.ts";
import { hasEntropyBonus, lossTerms, summarise } from "./loss-terms.ts";
import { chosenExecution, passTokens } from "./memory-plan.ts";
import { type MicroBatch, microBatch, type TargetedSequence } from "./micro-batch.ts";
import { planBatches, planSequence } from "./pack-plan.ts";
import type { Parameters } from "./parameters.ts";
import { rotaryTables } from "./runtime.ts";
import { TrainedModel } from "./trained-model.ts";
import { validateExamples, validateSequences } from "./validate-examples.ts";
import { WholeGraphExecutor } from "./whole-graph-executor.ts";

/** Threads, batch size and execution of training. */
export interface TrainerOptions {
  /** Compute threads. */
  readonly threads: number;
  /** Most tokens (padding included) in one run of the graphs; `auto` takes fewer for models above about 50 million parameters. */
  readonly microBatchTokens: number;
  /** `auto`: the whole graph for models below about 50 million parameters, and for larger ones where a micro-batch is small enough (`fitsWholeGraph`). */
  readonly execution: "auto" | "whole-graph" | "layer-by-layer";
  /** Whether sequences of the same prompt share a row. Default true. */
  readonly sharePrompts?: boolean;
  /** Trained instead of the model, which is frozen then. */
  readonly adapter?: AdapterParameters | undefined;
}

/** What a training that goes on elsewhere needs: arrays in the layout of what is trained, and a counter. */
export interface TrainerState {
  readonly weights: Float32Array;
  readonly firstMoments: Float32Array;
  readonly secondMoments: Float32Array;
  /** Optimiser steps taken. */
  readonly step: number;
}

/** A sequence scored towards its own tokens: without the `targets` that an example may carry for cross-entropy. */
function ownTokens({ tokenIds, mask, grammar }: ScoredSequence): TargetedSequence {
  return { tokenIds, mask, grammar };
}

/** Trains one model in this thread: gradients of the losses over examples, AdamW steps, log-probabilities. Calls must not overlap. */
export class EmbeddedTrainer {
  private readonly executor: Executor;
  private readonly grammarRows: GrammarRows;
  /** What the optimiser changes. */
  private readonly trainable: FlatParameters;
  private steps = 0;

  constructor(
    readonly shape: ModelShape,
    readonly parameters: Parameters,
    private readonly options: TrainerOptions,
  ) {
    const { execution, threads, adapter } = options;
    const model = new TrainedModel(parameters, adapter);
    this.trainable = model.trainable;
    const executors = { "whole-graph": WholeGraphExecutor, "layer-by-layer": LayerExecutor, fitting: FittingExecutor };
    this.executor = new executors[chosenExecution(shape, execution)](model, rotaryTables(shape), threads);
    this.grammarRows = new GrammarRows(shape.vocabularySize);
  }

  /** Runs every micro-batch of the sequences and sorts the scores back into lists aligned with their tokens. */
  private async eachBatch(sequences: readonly TargetedSequence[], run: (batch: MicroBatch) => Promise<TokenScores>) {
    const plans = sequences.flatMap((sequence, index) => planSequence(index, sequence.mask) ?? []);
    const batches = planBatches(plans, (index) => sequences[index]?.tokenIds ?? [], {
      maxTokens: passTokens(this.shape, this.options.execution, this.options.microBatchTokens),
      maxRow: this.shape.maxPositions,
      pack: this.options.sharePrompts ?? true,
    });
    const logprobs = sequences.map(({ tokenIds }) => new Array<number>(tokenIds.length).fill(0));
    const entropies = sequences.map(({ tokenIds }) => new Array<number>(tokenIds.length).fill(0));
    for (const plan of batches) {
      const batch = microBatch(plan, sequences, this.shape.vocabularySize, this.grammarRows);
      const scores = await run(batch);
      batch.trained.forEach(({ sequence, position }, token) => {
        (logprobs[sequence] as number[])[position] = scores.logprobs[token] as number;
        (entropies[sequence] as number[])[position] = scores.entropies[token] as number;
      });
    }
    return { logprobs, entropies };
  }

  /** Log-probabilities under the current weights, aligned with the tokens, 0 where the mask is 0. */
  async logprobs(sequences: readonly ScoredSequence[]): Promise<number[][]> {
    validateSequences(sequences, this.shape);
    return (await this.eachBatch(sequences.map(ownTokens), (batch) => this.executor.score(batch))).logprobs;
  }

  /**
   * Adds the gradient of the loss to the accumulated one.
   * @throws RangeError naming the example that can't be used. Nothing has been added then, unless it is a token that the example's own
   * grammar forbids: that shows only when its micro-batch is made.
   */
  async forwardBackward(examples: readonly TrainingExample[], loss: Loss): Promise<ForwardBackwardResult> {
    validateExamples(examples, loss, this.shape);
    const bonus = hasEntropyBonus(loss);
    const sequences = loss.kind === "cross-entropy" ? examples : examples.map(ownTokens);
    const scores = await this.eachBatch(sequences, (batch) => this.executor.train(batch, lossTerms(batch.trained, examples, loss), bonus));
    return summarise(examples, loss, scores.logprobs, scores.entropies);
  }

  /** One AdamW step with the accumulated gradient, which is then cleared. @throws RangeError when its norm or the learning rate is not finite. */
  optimStep(options: OptimStepOptions): { readonly gradientNorm: number; readonly step: number } {
    if (!Number.isFinite(options.learningRate)) throw new RangeError(`learningRate is ${options.learningRate}: expected a finite number`);
    const gradientNorm = adamWStep(this.trainable, this.steps + 1, options);
    this.steps += 1;
    return { gradientNorm, step: this.steps };
  }

  /** The accumulated gradient by Hugging Face name: views, not copies. */
  gradients(): Map<string, Float32Array> {
    return new Map(this.trainable.specs.map(({ name }) => [name, this.trainable.view(name, "gradients")]));
  }

  /** Views of weights and moments (not copies) and the step. An accumulated gradient is not part of the state. */
  state(): TrainerState {
    const { weights, firstMoments, secondMoments } = this.trainable;
    return { weights, firstMoments, secondMoments, step: this.steps };
  }

  /** Goes on from a state; the accumulated gradient is cleared. */
  restore(state: TrainerState): void {
    this.trainable.weights.set(state.weights);
    this.trainable.firstMoments.set(state.firstMoments);
    this.trainable.secondMoments.set(state.secondMoments);
    this.trainable.gradients.fill(0);
    this.steps = state.step;
  }

  /** Frees the sessions. */
  close(): Promise<void> {
    return this.executor.release();
  }
}
