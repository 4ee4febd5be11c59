import { ConfigError, ModelError } from "../../errors.ts";
import type { SampleRequest } from "../engine.ts";

/** @throws ModelError for a request that makes no sense; ConfigError for one that only a model run here can serve. */
export function checkRequest(request: SampleRequest, section: string): void {
  const problem = (message: string) => new ModelError(`sample: ${message}`);
  const { promptTokenIds, samples = 1, maxTokens, temperature = 1, topP = 1, seed, grammar } = request;
  if (grammar !== undefined) throw new ConfigError(`${section}: a server applies no token grammar: set grammar to false`);
  if (promptTokenIds.length === 0) throw problem("the prompt is empty: it needs at least one token");
  if (!Number.isInteger(samples) || samples < 1) throw problem(`samples is ${samples}: expected a positive integer`);
  if (!Number.isInteger(maxTokens) || maxTokens < 1) throw problem(`maxTokens is ${maxTokens}: expected a positive integer`);
  if (!(temperature >= 0) || !Number.isFinite(temperature)) throw problem(`temperature is ${temperature}: expected 0 or more`);
  if (!(topP > 0 && topP <= 1)) throw problem(`topP is ${topP}: expected a number in (0, 1]`);
  if (!Number.isInteger(seed)) throw problem(`seed is ${seed}: expected an integer`);
  if (request.stop?.strings?.includes("")) throw problem("a stop string is empty: it would stop every output at once");
}
