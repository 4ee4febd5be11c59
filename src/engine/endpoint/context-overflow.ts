import type { EndpointFailure } from "../../endpoint/endpoint-failure.ts";

/** Words of vLLM, SGLang, llama.cpp, OpenAI and TGI for a prompt, or prompt and output together, that exceeds the model's context. */
const overflow =
  /context[ _](length|size|window)|exceed_context_size|longer than the model|too many (input )?tokens|prompt is too long|must be <= \d+\. Given/i;
const limit = /(?:context (?:length|size|window)|maximum context length)\D{0,40}?(\d+)/i;
const prompt = /(\d+) (?:input tokens|in the (?:messages|prompt)|tokens from the input)|\((\d+) tokens\)/i;

/**
 * Whether a server says that the context is too small; then how many output tokens there is room for by its own figures, 0 where the
 * prompt alone is too long or no figures are told. Undefined: it failed for another reason.
 */
export function roomAfterOverflow({ status, message }: EndpointFailure): number | undefined {
  if (status === undefined || ![400, 413, 422].includes(status) || !overflow.test(message)) return undefined;
  const most = Number(limit.exec(message)?.[1]);
  const used = Number(prompt.exec(message)?.slice(1).find(Boolean));
  return most > used ? most - used : 0;
}
