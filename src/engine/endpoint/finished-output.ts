import { MalformedAnswerError } from "../../endpoint/endpoint-failure.ts";
import type { SampledTokens } from "../../types.ts";
import type { SampleRequest } from "../engine.ts";
import type { Renderer } from "../renderer.ts";
import type { ServerOutput } from "./server-answer.ts";
import { cutStop, endOfFirstStop } from "./stop-end.ts";

/** An output without the version of its weights. */
export type FinishedOutput = Omit<SampledTokens, "policyVersion">;

/**
 * A server's output as the contract has it: it ends with the stop token or at the token that completes the stop string, whatever the server
 * made of that. `logprobs` is empty where there isn't one for every token.
 * @throws MalformedAnswerError for tokens that this renderer doesn't have, or has other texts for.
 */
export function finishedOutput(server: ServerOutput, stop: SampleRequest["stop"], renderer: Renderer): FinishedOutput {
  const strings = stop?.strings ?? [];
  const stopIds = new Set([...(stop?.tokenIds ?? []), ...renderer.stopTokenIds]);
  const sampled = server.tokenIds && throughFirst(server.tokenIds, stopIds);
  const endsByToken = sampled !== undefined && stopIds.has(sampled.at(-1) as number);
  if (sampled !== undefined) checkTokens(sampled, server.text, renderer);
  const seen = sampled === undefined ? server.text : renderer.decode(sampled);
  const text = !endsByToken && server.text.startsWith(seen) ? server.text : seen;
  const stopped = endsByToken || server.finishReason === "stop";

  const end = endOfFirstStop(text, strings);
  if (end !== undefined) {
    if (sampled === undefined || text !== seen) return written(text.slice(0, end), renderer, "stop");
    const count = tokensThrough(sampled, strings, renderer);
    const tokenIds = sampled.slice(0, count);
    return { tokenIds, logprobs: (server.logprobs ?? []).slice(0, count), text: renderer.decode(tokenIds), finishReason: "stop" };
  }
  const byString = sampled !== undefined;
  const missing = stopped && !endsByToken ? cutStop({ text, stops: strings, reported: server.reported, byString }) : undefined;
  if (missing !== undefined) return written(text + missing, renderer, "stop");
  const finishReason = stopped ? "stop" : "length";
  if (sampled === undefined || text !== seen) return written(text, renderer, finishReason, stopped ? onlyStopToken(renderer) : []);
  return { tokenIds: sampled, logprobs: (server.logprobs ?? []).slice(0, sampled.length), text, finishReason };
}

/** An output of which only the text is known: encoded here, without log-probabilities. */
function written(
  text: string,
  renderer: Renderer,
  finishReason: SampledTokens["finishReason"],
  ending: readonly number[] = [],
): FinishedOutput {
  return { tokenIds: [...renderer.encodeMarkup(text), ...ending], logprobs: [], text, finishReason };
}

/** The token that ended a text by itself, where it can be but one. */
function onlyStopToken({ stopTokenIds }: Renderer): readonly number[] {
  return stopTokenIds.length === 1 ? stopTokenIds : [];
}

function throughFirst(tokenIds: readonly number[], stopIds: ReadonlySet<number>): readonly number[] {
  const at = tokenIds.findIndex((id) => stopIds.has(id));
  return at < 0 ? tokenIds : tokenIds.slice(0, at + 1);
}

/** How many tokens it takes until a stop string is complete. Decoding more of them never takes one away. */
function tokensThrough(tokenIds: readonly number[], stops: readonly string[], renderer: Renderer): number {
  let [fewest, most] = [1, tokenIds.length];
  while (fewest < most) {
    const middle = Math.floor((fewest + most) / 2);
    if (endOfFirstStop(renderer.decode(tokenIds.slice(0, middle)), stops) === undefined) fewest = middle + 1;
    else most = middle;
  }
  return most;
}

/** A tokenizer of another model shows in ids that it doesn't have, or in other words than the server's. */
function checkTokens(tokenIds: readonly number[], text: string, renderer: Renderer): void {
  const strange = tokenIds.find((id) => id < 0 || id >= renderer.vocabularySize);
  if (strange !== undefined) {
    throw new MalformedAnswerError(
      `token id ${strange} is outside the tokenizer's vocabulary of ${renderer.vocabularySize}: name the tokenizer of the model that is served`,
    );
  }
  const special = new Set(renderer.specialTokenIds);
  const here = beginning(renderer.decode(tokenIds.filter((id) => !special.has(id))));
  const there = beginning(text);
  if (tokenIds.some((id) => special.has(id)) || here.startsWith(there) || there.startsWith(here)) return;
  throw new MalformedAnswerError(
    `the server reads its tokens as ${JSON.stringify(there)}, the tokenizer as ${JSON.stringify(here)}: name the tokenizer of the model that is served`,
  );
}

/** The first letters and digits: white space and broken characters at the edges are no difference between tokenizers. */
function beginning(text: string): string {
  return (text.match(/[\p{L}\p{N}]+/gu)?.join("") ?? "").slice(0, 12);
}
