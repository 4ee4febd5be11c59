/** One continuation under way: what was asked, what came so far, and when it ends. */
import { Rng } from "../../rng.ts";
import type { SampledTokens } from "../../types.ts";
import type { SampleRequest } from "../engine.ts";
import { GrammarCursor } from "./grammar-replay.ts";

/** A request as the sampler takes it: the signal is only polled. */
export type SamplerRequest = Omit<SampleRequest, "signal"> & { readonly signal?: { readonly aborted: boolean } };

/** Turns tokens into text. */
export type TokenDecoder = (tokenIds: readonly number[]) => string;

/** One sample of one request, token by token. */
export class SamplingSequence {
  readonly tokenIds: number[] = [];
  readonly rng: Rng;
  readonly greedy: boolean;
  /** Of the distribution that is drawn from; greedy choices are scored at temperature 1. */
  readonly inverseTemperature: number;
  readonly topP: number;
  readonly cursor: GrammarCursor | undefined;
  finishReason: SampledTokens["finishReason"] | undefined;
  private readonly logprobs: number[] = [];
  private readonly stopTokenIds: ReadonlySet<number>;
  private readonly stopStrings: readonly string[];
  private readonly longestStop: number;

  constructor(
    readonly request: SamplerRequest,
    /** Place of the request in its batch. */
    readonly requestIndex: number,
    readonly sampleIndex: number,
    /** maxTokens, cut to what the model's positions allow. */
    private readonly maxTokens: number,
    private readonly decode: TokenDecoder | undefined,
  ) {
    this.rng = Rng.stream(request.seed, sampleIndex);
    const temperature = request.temperature ?? 1;
    this.greedy = temperature === 0;
    this.inverseTemperature = this.greedy ? 1 : 1 / temperature;
    this.topP = request.topP ?? 1;
    this.cursor = request.grammar === undefined ? undefined : new GrammarCursor(request.grammar);
    this.stopTokenIds = new Set(request.stop?.tokenIds);
    this.stopStrings = request.stop?.strings ?? [];
    this.longestStop = this.stopStrings.reduce((longest, text) => Math.max(longest, Buffer.byteLength(text)), 0);
  }

  get lastToken(): number {
    return this.tokenIds.at(-1) as number;
  }

  /** Takes the next token; sets `finishReason` when it ends the sequence. */
  append(token: number, logprob: number): void {
    this.tokenIds.push(token);
    this.logprobs.push(logprob);
    this.cursor?.advance(token);
    if (this.stopTokenIds.has(token) || this.completesStopString()) this.finishReason = "stop";
    else if (this.tokenIds.length >= this.maxTokens) this.finishReason = "length";
  }

  /** Every byte of a stop string lies in one token, so that only so many last tokens matter (and a few of no text). */
  private completesStopString(): boolean {
    if (this.stopStrings.length === 0 || this.decode === undefined) return false;
    const tail = this.decode(this.tokenIds.slice(-(this.longestStop + 4)));
    return this.stopStrings.some((text) => tail.includes(text));
  }

  result(policyVersion: number): SampledTokens {
    return {
      tokenIds: this.tokenIds,
      logprobs: this.logprobs,
      text: this.decode === undefined ? "" : this.decode(this.tokenIds),
      finishReason: this.finishReason ?? "length",
      policyVersion,
    };
  }
}
