/** Samples many sequences at once from the embedded model. */
import { ModelError } from "../../errors.ts";
import type { SampledTokens } from "../../types.ts";
import { AllowedTokenLists } from "./allowed-tokens.ts";
import { chooseToken } from "./choose-token.ts";
import { Decoder, defaultPieceTokens } from "./decoder.ts";
import type { AdapterParameters } from "./lora.ts";
import type { Parameters } from "./parameters.ts";
import { PrefixCache, type PrefixMatch } from "./prefix-cache.ts";
import { requestProblem } from "./sample-request-check.ts";
import { type SamplerRequest, SamplingSequence, type TokenDecoder } from "./sampling-sequence.ts";

/** Threads, memory and batch sizes of sampling. */
export interface EmbeddedSamplerOptions {
  readonly threads: number;
  /** Megabytes of keys and values of finished sequences kept for prompts that continue or repeat them; 0: none. */
  readonly prefixCacheMegabytes: number;
  /** Makes text of tokens; without it texts are empty and stop strings are refused. */
  readonly decode?: TokenDecoder;
  /** Most sequences in one decoding step; what is over waits. Default 256. */
  readonly maxRows?: number;
  /** Tokens (padding included) in one prefill run. Default 4096. */
  readonly prefillTokens?: number;
  /** Most of a prompt's tokens in one prefill run: what is longer goes in pieces. Default 512. */
  readonly pieceTokens?: number;
  /** Megabytes of keys and values of the sequences being sampled: bounds the rows of long ones. Default 512. */
  readonly batchMegabytes?: number;
  /** Added to the model's weights. */
  readonly adapter?: AdapterParameters | undefined;
  /** See DecoderOptions. */
  readonly samplingWeights?: "f32" | "int8" | undefined;
}

/** Numbers in the attention scores of one prefill run, at most (several rows go together only within this). */
export const attentionNumbers = 1 << 26;

/** Sequences that share a prompt, which is computed once. */
interface PromptGroup {
  readonly prompt: readonly number[];
  readonly inverseTemperature: number;
  readonly sequences: SamplingSequence[];
  readonly match: PrefixMatch | undefined;
}

/**
 * Rules of the reported log-probabilities: at temperature 1 and topP 1 they are those of the distribution sampled from,
 * renormalised over what the grammar allows, and equal the training log-probabilities. At other temperatures they belong to
 * the temperature-scaled distribution before the nucleus is cut; greedy tokens (temperature 0) are scored at temperature 1.
 * The i-th sample of a request draws from the stream (seed, i), one number a token: what else is in the batch does not matter.
 */
export class EmbeddedSampler {
  /** Reported with every output; the owner counts publications. */
  policyVersion = 0;
  private readonly prefixes: PrefixCache;
  private readonly allowed: AllowedTokenLists;
  private readonly maxRows: number;
  private readonly prefillLimits: PrefillLimits;
  private readonly batchBytes: number;
  /** Row r of the cache belongs to active[r]. */
  private readonly active: SamplingSequence[] = [];

  private constructor(
    private readonly decoder: Decoder,
    private readonly options: EmbeddedSamplerOptions,
  ) {
    this.prefixes = new PrefixCache(options.prefixCacheMegabytes * 2 ** 20);
    this.allowed = new AllowedTokenLists(decoder.parameters.shape.vocabularySize);
    this.maxRows = options.maxRows ?? 256;
    const { prefillTokens: tokens = 4096, pieceTokens = defaultPieceTokens } = options;
    this.prefillLimits = { tokens, pieceTokens, scores: Math.floor(attentionNumbers / decoder.parameters.shape.heads) };
    this.batchBytes = (options.batchMegabytes ?? 512) * 2 ** 20;
  }

  static async create(parameters: Parameters, options: EmbeddedSamplerOptions): Promise<EmbeddedSampler> {
    return new EmbeddedSampler(await Decoder.create(parameters, options), options);
  }

  /** Samples from the weights as they are now, and forgets the keys and values of earlier ones; must be called whenever they have changed. */
  useWeights(): void {
    this.decoder.takeAdapter();
    this.prefixes.clear();
  }

  /** Frees the sessions. */
  async release(): Promise<void> {
    await this.decoder.release();
  }

  /** Serves all requests as one batch. A request that can't be served, or was aborted, gives an Error in its place. */
  async sample(requests: readonly SamplerRequest[]): Promise<(SampledTokens[] | Error)[]> {
    const { vocabularySize, maxPositions } = this.decoder.parameters.shape;
    const limits = { vocabularySize, maxPositions, hasText: this.options.decode !== undefined };
    const results = requests.map((request): SampledTokens[] | Error => requestProblem(request, limits) ?? []);
    const waiting: SamplingSequence[] = [];
    requests.forEach((request, index) => {
      if (results[index] instanceof Error) return;
      const maxTokens = Math.min(request.maxTokens, maxPositions - request.promptTokenIds.length);
      for (let sample = 0; sample < (request.samples ?? 1); sample++) {
        waiting.push(new SamplingSequence(request, index, sample, maxTokens, this.options.decode));
      }
    });
    const queue = samePromptsTogether(waiting);
    try {
      while (queue.length > 0 || this.active.length > 0) {
        this.dropAborted(queue, results);
        const free = this.maxRows - this.active.length;
        if (queue.length > 0 && (this.active.length === 0 || free >= this.maxRows / 4)) await this.admit(queue, results);
        if (this.active.length > 0) await this.step(results);
      }
    } catch (error) {
      // Half-served rows of this batch must not stand in the way of the next one.
      this.active.length = 0;
      while (this.decoder.cache.rows > 0) this.decoder.cache.removeRow(this.decoder.cache.rows - 1);
      throw error;
    }
    return results;
  }

  /** Computes the prompts of as many waiting sequences as have room and draws their first tokens. */
  private async admit(queue: SamplingSequence[], results: (SampledTokens[] | Error)[]): Promise<void> {
    const groups = this.takeGroups(queue);
    for (const batch of prefillBatches(groups, this.prefillLimits)) {
      const { cache } = this.decoder;
      const rows = batch.reduce((sum, group) => sum + group.sequences.length, 0);
      cache.reserve(
        cache.rows + rows,
        batch.reduce((longest, group) => Math.max(longest, group.prompt.length), 0),
      );
      const firstRow = cache.rows;
      const lists = batch.map((group) => {
        const row = cache.addRow();
        const { match } = group;
        if (match !== undefined) cache.import(row, match.exported, match.total, match.length);
        return match === undefined ? group.prompt : group.prompt.slice(match.length);
      });
      const temperatures = Float32Array.from(batch, (group) => group.inverseTemperature);
      const probabilities = await this.decoder.extend(firstRow, lists, temperatures);
      batch.forEach((group, index) => {
        this.startGroup(group, firstRow + index, probabilities, index, results);
      });
      for (let index = batch.length - 1; index >= 0; index--) {
        if (this.active[firstRow + index]?.finishReason !== undefined) this.removeRow(firstRow + index);
      }
    }
  }

  /** First tokens of a group whose prompt was computed in `row`: that row becomes the first unfinished sequence's, others get copies. */
  private startGroup(
    group: PromptGroup,
    row: number,
    probabilities: Float32Array,
    place: number,
    results: (SampledTokens[] | Error)[],
  ): void {
    const { cache } = this.decoder;
    let owner: SamplingSequence | undefined;
    for (const sequence of group.sequences) {
      this.choose(sequence, probabilities, place, results);
      if (sequence.finishReason !== undefined) continue;
      if (owner === undefined) {
        owner = sequence;
        continue;
      }
      const copy = cache.addRow();
      cache.copyRow(row, copy);
      this.active[copy] = sequence;
    }
    this.active[row] = owner ?? (group.sequences[0] as SamplingSequence);
    if (owner === undefined) this.remember(this.active[row] as SamplingSequence, row);
  }

  /** One token for every active sequence. */
  private async step(results: (SampledTokens[] | Error)[]): Promise<void> {
    const { cache } = this.decoder;
    const { active } = this;
    cache.reserve(active.length, cache.lengths.reduce((longest, length) => Math.max(longest, length), 0) + 1);
    const tokens = active.map((sequence) => sequence.lastToken);
    const temperatures = Float32Array.from(active, (sequence) => sequence.inverseTemperature);
    const probabilities = await this.decoder.step(tokens, temperatures);
    active.forEach((sequence, row) => {
      this.choose(sequence, probabilities, row, results);
    });
    for (let row = active.length - 1; row >= 0; row--) {
      const sequence = active[row] as SamplingSequence;
      if (sequence.finishReason === undefined) continue;
      this.remember(sequence, row);
      this.removeRow(row);
    }
  }

  /** Draws a sequence's next token from row `place`; stores the output when it is the last. */
  private choose(sequence: SamplingSequence, probabilities: Float32Array, place: number, results: (SampledTokens[] | Error)[]): void {
    const { vocabularySize } = this.decoder.parameters.shape;
    const { rng, greedy, topP, cursor, requestIndex } = sequence;
    const allowed = cursor === undefined ? undefined : this.allowed.at(cursor);
    const choice = chooseToken(probabilities, place, vocabularySize, { rng, greedy, topP, allowed });
    if (choice === undefined) {
      results[requestIndex] = new ModelError(
        cursor === undefined
          ? "sample: the model gave no probabilities (NaN): its weights are damaged or diverged"
          : `sample: grammar ${cursor.grammar.id} allows no token after ${JSON.stringify(sequence.tokenIds.slice(-5))}: add a stop token there`,
      );
      sequence.finishReason = "stop";
      return;
    }
    sequence.append(choice.token, choice.logprob);
    const outputs = results[requestIndex];
    if (sequence.finishReason !== undefined && Array.isArray(outputs)) outputs[sequence.sampleIndex] = sequence.result(this.policyVersion);
  }

  private remember(sequence: SamplingSequence, row: number): void {
    if (!this.prefixes.enabled) return;
    const { cache } = this.decoder;
    const prompt = sequence.request.promptTokenIds;
    const length = cache.lengths[row] as number;
    const tokenIds = new Int32Array(length);
    tokenIds.set(prompt);
    tokenIds.set(sequence.tokenIds.slice(0, length - prompt.length), prompt.length);
    this.prefixes.add(tokenIds, prompt.length, () => cache.export(row, length));
  }

  private removeRow(row: number): void {
    this.decoder.cache.removeRow(row);
    const last = this.active.pop() as SamplingSequence;
    if (row < this.active.length) this.active[row] = last;
  }

  private dropAborted(queue: SamplingSequence[], results: (SampledTokens[] | Error)[]): void {
    const dropped = (sequence: SamplingSequence) => {
      if (sequence.request.signal?.aborted) results[sequence.requestIndex] = new DOMException("sample: aborted", "AbortError");
      // A request that failed takes its other samples with it.
      return results[sequence.requestIndex] instanceof Error;
    };
    for (let index = queue.length - 1; index >= 0; index--) if (dropped(queue[index] as SamplingSequence)) queue.splice(index, 1);
    for (let row = this.active.length - 1; row >= 0; row--) if (dropped(this.active[row] as SamplingSequence)) this.removeRow(row);
  }

  /** Takes sequences from the front of the queue while rows and memory last, grouped by prompt. */
  private takeGroups(queue: SamplingSequence[]): PromptGroup[] {
    const groups = new Map<string, PromptGroup>();
    let slots = this.decoder.cache.lengths.reduce((longest, length) => Math.max(longest, length), 0);
    let rows = this.active.length;
    while (queue.length > 0 && rows < this.maxRows) {
      const sequence = queue[0] as SamplingSequence;
      slots = Math.max(slots, sequence.request.promptTokenIds.length + sequence.request.maxTokens);
      if (
        rows > 0 &&
        (rows + 1) * Math.min(slots, this.decoder.parameters.shape.maxPositions) * this.decoder.bytesPerToken > this.batchBytes
      )
        break;
      queue.shift();
      rows++;
      const key = promptKey(sequence);
      const group = groups.get(key);
      if (group !== undefined) group.sequences.push(sequence);
      else {
        const prompt = sequence.request.promptTokenIds;
        groups.set(key, {
          prompt,
          inverseTemperature: sequence.inverseTemperature,
          sequences: [sequence],
          match: this.prefixes.find(prompt),
        });
      }
    }
    return [...groups.values()];
  }
}

function promptKey(sequence: SamplingSequence): string {
  return `${sequence.inverseTemperature}:${sequence.request.promptTokenIds.join()}`;
}

/** Stable: groups in order of their first sequence. */
function samePromptsTogether(sequences: readonly SamplingSequence[]): SamplingSequence[] {
  const groups = new Map<string, SamplingSequence[]>();
  for (const sequence of sequences) {
    const key = promptKey(sequence);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [sequence]);
    else group.push(sequence);
  }
  return [...groups.values()].flat();
}

/** What a prefill run may hold. */
interface PrefillLimits {
  /** Tokens, padding included. */
  readonly tokens: number;
  /** Most of a prompt's tokens in one run. */
  readonly pieceTokens: number;
  /** Products of a new token's position with one it sees. */
  readonly scores: number;
}

/** Groups of similar numbers of new tokens, longest first, those with a cached prefix apart; a group that is over the limits alone stands alone. */
function prefillBatches(groups: readonly PromptGroup[], { tokens, pieceTokens, scores }: PrefillLimits): PromptGroup[][] {
  const added = (group: PromptGroup) => group.prompt.length - (group.match?.length ?? 0);
  const longest = groups.reduce((most, { prompt }) => Math.max(most, prompt.length), 0);
  const ordered = [...groups].sort(
    (left, right) => Number(left.match === undefined) - Number(right.match === undefined) || added(right) - added(left),
  );
  const batches: PromptGroup[][] = [];
  for (const group of ordered) {
    const batch = batches.at(-1);
    const first = batch?.[0];
    const fits =
      first !== undefined &&
      (first.match === undefined) === (group.match === undefined) &&
      ((batch as PromptGroup[]).length + 1) * added(first) <= tokens &&
      ((batch as PromptGroup[]).length + 1) * Math.min(added(first), pieceTokens) * longest <= scores;
    if (fits) (batch as PromptGroup[]).push(group);
    else batches.push([group]);
  }
  return batches;
}
