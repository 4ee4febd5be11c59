import { ModelError, PromptTooLongError } from "../../errors.ts";
import type { SamplerRequest } from "./sampling-sequence.ts";

/** What a request has to fit. */
export interface RequestLimits {
  readonly vocabularySize: number;
  readonly maxPositions: number;
  /** Whether there is a tokenizer, which stop strings need. */
  readonly hasText: boolean;
}

/** What is wrong with a request, or undefined. */
export function requestProblem(request: SamplerRequest, limits: RequestLimits): ModelError | PromptTooLongError | undefined {
  const problem = (message: string) => new ModelError(`sample: ${message}`);
  const { promptTokenIds, samples = 1, maxTokens, temperature = 1, topP = 1, seed } = request;
  if (promptTokenIds.length === 0) return problem("the prompt is empty: it needs at least one token");
  if (promptTokenIds.length >= limits.maxPositions) {
    return new PromptTooLongError(
      `the prompt has ${promptTokenIds.length} tokens, the model's longest sequence is ${limits.maxPositions}: no room is left for an output`,
    );
  }
  const strange = promptTokenIds.find((id) => !Number.isInteger(id) || id < 0 || id >= limits.vocabularySize);
  if (strange !== undefined) return problem(`prompt token id ${strange} is outside the model's vocabulary of ${limits.vocabularySize}`);
  if (!Number.isInteger(samples) || samples < 1) return problem(`samples is ${samples}: expected a positive integer`);
  if (!Number.isInteger(maxTokens) || maxTokens < 1) return problem(`maxTokens is ${maxTokens}: expected a positive integer`);
  if (!(temperature >= 0) || !Number.isFinite(temperature)) return problem(`temperature is ${temperature}: expected 0 or more`);
  if (!(topP > 0 && topP <= 1)) return problem(`topP is ${topP}: expected a number in (0, 1]`);
  if (!Number.isInteger(seed)) return problem(`seed is ${seed}: expected an integer`);
  if ((request.stop?.strings?.length ?? 0) > 0 && !limits.hasText)
    return problem("stop strings need a tokenizer, and this model has none: use stop.tokenIds");
  if (request.stop?.strings?.includes("")) return problem("a stop string is empty: it would stop every output at once");
  return undefined;
}
