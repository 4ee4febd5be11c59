/** Reads the answers of `/v1/completions` and `/v1/chat/completions`, with what the well-known servers add to them. */

import { MalformedAnswerError } from "../../endpoint/endpoint-failure.ts";
import { isRecord, shown } from "../../json-values.ts";

/** One output as a server told of it. */
export interface ServerOutput {
  readonly text: string;
  readonly finishReason: "stop" | "length";
  /** What stopped it, where the server tells (see `cutStop`). */
  readonly reported: unknown;
  /** The sampled tokens; absent: not told. llama.cpp leaves out those that spell the stop string. */
  readonly tokenIds?: readonly number[];
  /** One a token of `tokenIds`; absent where the server told none, or another number of them. */
  readonly logprobs?: readonly number[];
}

/** @throws MalformedAnswerError for anything but one choice with a text and a reason for its end. */
export function readCompletion(answer: unknown): ServerOutput {
  const choice = onlyChoice(answer);
  return { ...ending(choice), text: textAt(choice["text"], "choices[0].text"), ...sampledTokens(choice) };
}

/** The same for chat. @throws MalformedAnswerError also where the server took the turn for a call of a tool. */
export function readChatCompletion(answer: unknown): ServerOutput {
  const choice = onlyChoice(answer);
  const message = choice["message"];
  if (!isRecord(message)) throw new MalformedAnswerError(`choices[0].message: expected an object, got ${shown(message)}`);
  const { content, tool_calls: toolCalls } = message;
  if (Array.isArray(toolCalls) && toolCalls.length > 0) {
    throw new MalformedAnswerError(
      "the server cut a tool call out of the text: start it without a tool-call parser, since turns are read here as they were written",
    );
  }
  // Without content the model has spent its budget on thoughts that the server keeps apart.
  return { ...ending(choice), text: content === null || content === undefined ? "" : textAt(content, "choices[0].message.content") };
}

function onlyChoice(answer: unknown): Readonly<Record<string, unknown>> {
  const choices = isRecord(answer) ? answer["choices"] : undefined;
  if (!Array.isArray(choices)) throw new MalformedAnswerError(`expected {"choices": [...]}, got ${shown(answer)}`);
  if (choices.length !== 1) throw new MalformedAnswerError(`${choices.length} choices where one was asked for`);
  const [choice] = choices as readonly unknown[];
  if (!isRecord(choice)) throw new MalformedAnswerError(`choices[0]: expected an object, got ${shown(choice)}`);
  return choice;
}

function textAt(value: unknown, place: string): string {
  if (typeof value !== "string") throw new MalformedAnswerError(`${place}: expected a text, got ${shown(value)}`);
  return value;
}

function ending(choice: Readonly<Record<string, unknown>>): Pick<ServerOutput, "finishReason" | "reported"> {
  const reason = choice["finish_reason"];
  const reported = "stop_reason" in choice ? choice["stop_reason"] : choice["matched_stop"];
  if (reason === "length") return { finishReason: "length", reported };
  // TGI says eos_token and stop_sequence.
  if (reason === "stop" || reason === "eos_token" || reason === "stop_sequence") return { finishReason: "stop", reported };
  if (reason === "content_filter") throw new MalformedAnswerError("the output was withheld by a content filter");
  throw new MalformedAnswerError(`choices[0].finish_reason: expected stop or length, got ${shown(reason)}`);
}

/**
 * Token ids and log-probabilities: `token_ids` (vLLM, SGLang: asked for by return_token_ids), tokens written as `token_id:123` (older vLLM,
 * asked for by return_tokens_as_token_ids), or entries with an `id` (llama.cpp).
 */
function sampledTokens(choice: Readonly<Record<string, unknown>>): Pick<ServerOutput, "tokenIds" | "logprobs"> {
  const told = isRecord(choice["logprobs"]) ? choice["logprobs"] : {};
  const entries = Array.isArray(told["content"]) ? told["content"].map((entry: unknown) => (isRecord(entry) ? entry : {})) : undefined;
  const written = (Array.isArray(told["tokens"]) ? told["tokens"] : []).map((token) => Number(/^token_id:(\d+)$/.exec(String(token))?.[1]));
  const lists = [choice["token_ids"], entries?.map(({ id }) => id), written];
  const tokenIds = lists.find((list): list is number[] => Array.isArray(list) && list.length > 0 && list.every(Number.isInteger));
  if (tokenIds === undefined) return {};
  const logprobs = entries?.map(({ logprob }) => logprob) ?? told["token_logprobs"];
  const isWhole = Array.isArray(logprobs) && logprobs.length === tokenIds.length && logprobs.every(Number.isFinite);
  return { tokenIds, ...(isWhole ? { logprobs: logprobs as number[] } : {}) };
}
