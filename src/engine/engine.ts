/**
 * The engine contract: tokens in, tokens out. The verbs are those of the Tinker API, so that an in-process engine and a
 * remote distributed one are driven by the same training step.
 */
import type { PolicyName, SampledTokens } from "../types.ts";

/** The projections of a decoder layer that can have a low-rank adapter, in storage order. */
export const loraTargets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"] as const;
/** One of them, named as in the model's tensors. */
export type LoraTarget = (typeof loraTargets)[number];

/** A low-rank adapter (LoRA, Hu et al., arXiv 2106.09685): y = x W^T + scale (x A^T) B^T with W frozen, A [rank, in] and B [out, rank]. */
export interface LoraShape {
  readonly rank: number;
  /** The product's scale is alpha / rank. */
  readonly alpha: number;
  /** rsLoRA (arXiv 2312.03732): the scale is alpha / sqrt(rank) instead. */
  readonly rankStabilised?: boolean;
  readonly targets: readonly LoraTarget[];
}

/**
 * A grammar over tokens: a finite-state machine that says which tokens may come next. The same mask is applied when
 * sampling and when scoring (log-probabilities are renormalised over the allowed tokens), so that ratios stay exact.
 * Plain data, so that it can cross a thread or a wire.
 */
export interface TokenGrammar {
  /** Same id, same grammar. */
  readonly id: string;
  readonly start: number;
  readonly states: readonly GrammarState[];
  /** Tokens that are never "text": allowed only where a state names them. */
  readonly reservedTokenIds: readonly number[];
}

/** Which tokens may come next, and where they lead. */
export interface GrammarState {
  /** The state after a text (non-reserved) token; absent: text is not allowed here. */
  readonly onText?: number;
  /** Reserved tokens allowed here, as [token id, state after it]. */
  readonly onToken: readonly (readonly [number, number])[];
  /** Tokens of `onToken` that this output has already used in a `distinct` state are not allowed again. */
  readonly distinct?: boolean;
}

/** A prompt to be continued. */
export interface SampleRequest {
  readonly promptTokenIds: readonly number[];
  /** How many continuations; the i-th uses the stream (seed, i). Default 1. */
  readonly samples?: number;
  readonly maxTokens: number;
  /** 0 = greedy. Default 1. */
  readonly temperature?: number;
  /** Nucleus mass in (0, 1]. Default 1. */
  readonly topP?: number;
  /** Stop tokens are included in the output; a stop string ends the output at the token that completes it. */
  readonly stop?: { readonly tokenIds?: readonly number[]; readonly strings?: readonly string[] };
  /** One seed a sequence: the result does not depend on what else is in the batch. */
  readonly seed: number;
  readonly grammar?: TokenGrammar;
  readonly signal?: AbortSignal;
}

/** Whatever continues prompts. */
export interface Sampler {
  /** Requests made in the same turn of the event loop are served as one batch. */
  sample(request: SampleRequest): Promise<SampledTokens[]>;
  close(): Promise<void>;
}

/** One sequence with everything the loss needs; all lists are aligned with `tokenIds`, entry t speaks of predicting token t from those before it. */
export interface TrainingExample {
  readonly policy: PolicyName;
  readonly groupKey: string;
  readonly tokenIds: readonly number[];
  /** 1 where the model wrote the token (it is trained on), 0 elsewhere. mask[0] is 0. */
  readonly mask: readonly (0 | 1)[];
  /** Log-probabilities at sampling time; ignored where mask is 0 and by cross-entropy. */
  readonly logprobs: readonly number[];
  readonly advantages: readonly number[];
  /** Eq. 3's normalisation travels here: the loss is the plain weighted sum over tokens. */
  readonly weights: readonly number[];
  /** Log-probabilities under the reference policy; needed when klCoefficient > 0. */
  readonly referenceLogprobs?: readonly number[];
  /** Replayed from its start over every run of consecutive mask-1 tokens. */
  readonly grammar?: TokenGrammar;
  /** Cross-entropy only: train position t towards this token instead of tokenIds[t] (auxiliary labels); -1 or absent: tokenIds[t]. */
  readonly targets?: readonly number[];
}

/** What `forwardBackward` differentiates. */
export type Loss =
  /** Clipped surrogate with dual clip (Eq. 3), plus klCoefficient x k3, minus entropyCoefficient x entropy. */
  | {
      readonly kind: "clipped-surrogate";
      readonly clipLow: number;
      readonly clipHigh: number;
      /** Lower bound factor for negative advantages; absent: none. */
      readonly dualClip?: number;
      readonly klCoefficient?: number;
      readonly entropyCoefficient?: number;
    }
  /** Weighted negative log-likelihood. */
  | { readonly kind: "cross-entropy" };

/** The figures of one `forwardBackward`. */
export interface ForwardBackwardResult {
  /** Weighted sum over tokens, KL and entropy terms included. */
  readonly loss: number;
  /** Current log-probabilities, one list an example, aligned with its tokenIds (0 where mask is 0). */
  readonly logprobs: readonly (readonly number[])[];
  /** Tokens with mask 1 and weight other than 0. */
  readonly tokens: number;
  /** Share of those tokens whose gradient the clip removed. */
  readonly clipFraction: number;
  /** Weighted mean k3 divergence from the reference policy; 0 without reference log-probabilities. */
  readonly kl: number;
  /** Mean entropy of the next-token distribution over those tokens, in nats. */
  readonly entropy: number;
}

/** One AdamW step. */
export interface OptimStepOptions {
  readonly learningRate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly eps: number;
  /** Decoupled (AdamW). Not applied to norm weights and biases. */
  readonly weightDecay: number;
  /** Global-norm clip; Infinity: none. */
  readonly maxGradNorm: number;
}

/** A sequence whose tokens are to be scored. */
export interface ScoredSequence {
  readonly tokenIds: readonly number[];
  readonly mask: readonly (0 | 1)[];
  readonly grammar?: TokenGrammar;
}

/** A model that samples and learns. */
export interface TrainableEngine extends Sampler {
  /** Per-token log-probabilities under the current weights, aligned with tokenIds, 0 where mask is 0. */
  logprobs(sequences: readonly ScoredSequence[]): Promise<number[][]>;
  /** Adds the gradient of the loss over these examples to the accumulated gradient. */
  forwardBackward(examples: readonly TrainingExample[], loss: Loss): Promise<ForwardBackwardResult>;
  /** One AdamW step with the accumulated gradient, which is then cleared. */
  optimStep(options: OptimStepOptions): Promise<{ readonly gradientNorm: number; readonly step: number }>;
  /** Writes weights, optimiser moments and counters into a new folder, atomically: all that an exact resume needs. */
  saveState(folder: string): Promise<void>;
  loadState(folder: string): Promise<void>;
  /** Writes the weights as a Hugging Face model folder, an adapter merged into them. */
  exportModel(folder: string): Promise<void>;
  /** Where a low-rank adapter is trained: writes it as PEFT does; `baseModel` is what its configuration names as the base. */
  exportAdapter?(folder: string, baseModel: string): Promise<void>;
  /** Makes the current weights the ones that `sample` uses; returns the new policy version. */
  publish(): Promise<number>;
}
