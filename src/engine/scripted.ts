/** A sampler without a model, for tests of everything that only needs one: a function decides what is said. */
import type { SampledTokens } from "../types.ts";
import type { SampleRequest, Sampler } from "./engine.ts";

/** What a script answers: text, which the sampler's encoder turns into tokens, or the tokens themselves. */
export type ScriptedOutput = string | { readonly tokenIds: readonly number[]; readonly text?: string };

/** Decides one output from the prompt's tokens, the request and the index of the sample. */
export type SamplerScript = (
  promptTokenIds: readonly number[],
  request: SampleRequest,
  sampleIndex: number,
) => ScriptedOutput | Promise<ScriptedOutput>;

/** How scripted outputs become tokens and text. */
export interface ScriptedSamplerOptions {
  /** Needed for scripts that answer with text: Renderer.encodeMarkup, say. */
  readonly encode?: (text: string) => readonly number[];
  /** Makes the text of scripts that answer with tokens: Renderer.decode, say. */
  readonly decode?: (tokenIds: readonly number[]) => string;
  /** Reported for every token. Default -0.5. */
  readonly logprob?: number;
}

/** Says what its script says, at most `maxTokens` tokens of it, and remembers every request. */
export class ScriptedSampler implements Sampler {
  readonly requests: SampleRequest[] = [];
  /** Reported with every output. */
  policyVersion = 0;

  constructor(
    private readonly script: SamplerScript,
    private readonly options: ScriptedSamplerOptions = {},
  ) {}

  async sample(request: SampleRequest): Promise<SampledTokens[]> {
    request.signal?.throwIfAborted();
    this.requests.push(request);
    const outputs: SampledTokens[] = [];
    for (let index = 0; index < (request.samples ?? 1); index++) outputs.push(await this.one(request, index));
    return outputs;
  }

  async close(): Promise<void> {}

  private async one(request: SampleRequest, sampleIndex: number): Promise<SampledTokens> {
    const said = await this.script(request.promptTokenIds, request, sampleIndex);
    const { encode, decode, logprob = -0.5 } = this.options;
    if (typeof said === "string" && encode === undefined) {
      throw new TypeError("ScriptedSampler: the script answered with text: give the option `encode`");
    }
    const whole = typeof said === "string" ? (encode as (text: string) => readonly number[])(said) : said.tokenIds;
    const tokenIds = whole.slice(0, request.maxTokens);
    const cut = tokenIds.length < whole.length;
    const wholeText = typeof said === "string" ? said : said.text;
    const text = (cut ? undefined : wholeText) ?? decode?.(tokenIds) ?? "";
    return {
      tokenIds,
      logprobs: tokenIds.map(() => logprob),
      text,
      finishReason: cut ? "length" : "stop",
      policyVersion: this.policyVersion,
    };
  }
}
