import { ConfigError, ModelError } from "../../errors.ts";
import { encoderBatches } from "./encoder-batches.ts";
import type { EncoderSettings } from "./encoder-folder.ts";
import { EncoderGraph } from "./encoder-graph.ts";
import { EncoderTokenizer } from "./encoder-tokenizer.ts";
import { scaleToUnit } from "./pool-vectors.ts";

/** How an encoder computes, apart from what. */
export interface EncoderResources {
  readonly threads: number;
  /** Tokens of one pass, padding included. */
  readonly batchTokens: number;
}

/** Vectors of one call, one after the other, in the order of the texts. */
export interface EncodedTexts {
  readonly vectors: Float32Array;
  /** Texts cut at the longest input. */
  readonly truncated: number;
}

/** Tokenizer, graph and pooling of one model, in the thread that calls it. */
export class Encoder {
  private constructor(
    private readonly tokenizer: EncoderTokenizer,
    private readonly graph: EncoderGraph,
    private readonly settings: EncoderSettings,
    private readonly batchTokens: number,
    readonly dimensions: number,
  ) {}

  /** Whether pooling is the graph's. */
  get pooled(): boolean {
    return this.graph.pooled;
  }

  /**
   * Opens the files and embeds one word, so that a model that can't work is refused at once.
   * @throws ModelError and ConfigError as the parts do, and for vectors of another width than the files promise.
   */
  static async open(settings: EncoderSettings, { threads, batchTokens }: EncoderResources): Promise<Encoder> {
    const tokenizer = await EncoderTokenizer.open(settings.tokenizer, settings.tokenizerConfig);
    if (settings.maxTokens <= tokenizer.specialTokens) {
      throw new ConfigError(
        `retrieval.embedder.maxTokens: ${settings.maxTokens} leaves no room beside the ${tokenizer.specialTokens} special tokens of the model`,
      );
    }
    const graph = await EncoderGraph.open(settings, tokenizer.padTokenId ?? settings.padTokenId ?? 0, threads);
    const [probe] = await graph.run([tokenizer.encode("probe", settings.maxTokens).ids]);
    const dimensions = probe?.length ?? 0;
    if (settings.width !== undefined && settings.width !== dimensions) {
      throw new ModelError(
        `${settings.graph} gives vectors of ${dimensions} dimensions, the folder's files say ${settings.width}: graph and files must be of one model`,
      );
    }
    return new Encoder(tokenizer, graph, settings, batchTokens, dimensions);
  }

  /** @param isAborted Asked between passes. @throws ModelError for a vector that holds no numbers, quoting its text. */
  async encode(texts: readonly string[], isAborted: () => boolean): Promise<EncodedTexts> {
    const { settings, dimensions } = this;
    const encoded = texts.map((text) => this.tokenizer.encode(settings.lowerCase ? text.toLowerCase() : text, settings.maxTokens));
    const vectors = new Float32Array(texts.length * dimensions);
    for (const batch of encoderBatches(
      encoded.map(({ ids }) => ids.length),
      this.batchTokens,
    )) {
      if (isAborted()) throw new DOMException("the embedding was aborted", "AbortError");
      // A tokenizer without special tokens gives none for an empty text: its vector stays zero.
      const rows = batch.filter((row) => (encoded[row]?.ids.length ?? 0) > 0);
      if (rows.length === 0) continue;
      const pooled = await this.graph.run(rows.map((row) => encoded[row]?.ids ?? []));
      pooled.forEach((vector, index) => {
        const row = rows[index] as number;
        if (!vector.every(Number.isFinite)) {
          throw new ModelError(
            `${settings.graph} gives values that are no numbers for ${JSON.stringify((texts[row] as string).slice(0, 80))}: check the model`,
          );
        }
        if (settings.normalize) scaleToUnit(vector);
        vectors.set(vector, row * dimensions);
      });
    }
    return { vectors, truncated: encoded.filter(({ truncated }) => truncated).length };
  }
}
