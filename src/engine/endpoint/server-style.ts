/** The two ways of asking an OpenAI-compatible server for the continuation of a prompt. */
import type { SampleRequest } from "../engine.ts";
import type { PieceRenderer } from "./piece-renderer.ts";
import type { RequestBody } from "./request-body.ts";
import { readChatCompletion, readCompletion, type ServerOutput } from "./server-answer.ts";

/** What differs between completions and chat. */
export interface ServerStyle {
  /** Below the base address. */
  readonly path: string;
  /** Whether a prompt has as many tokens here as there. */
  readonly seesTokens: boolean;
  /** The prompt, and parameters that only this style has. @throws ModelError for a prompt that it can't send. */
  body(request: SampleRequest): RequestBody;
  /** @throws MalformedAnswerError */
  read(answer: unknown): ServerOutput;
}

/** Prompts are token ids, and tokens with their log-probabilities are asked for in the ways that the well-known servers know. */
export const completionsStyle: ServerStyle = {
  path: "/completions",
  seesTokens: true,
  body: ({ promptTokenIds, stop }) => ({
    prompt: [...promptTokenIds],
    ...(stop?.tokenIds?.length ? { stop_token_ids: [...stop.tokenIds] } : {}),
    skip_special_tokens: false,
    logprobs: 1,
    return_token_ids: true,
    return_tokens_as_token_ids: true,
  }),
  read: readCompletion,
};

/** Prompts are messages, recovered from the renderer's tokens. @param toolRole Whether documents are a tool's messages; else they are the user's. */
export function chatStyle(renderer: PieceRenderer, toolRole: boolean): ServerStyle {
  return {
    path: "/chat/completions",
    seesTokens: false,
    body: ({ promptTokenIds }) => ({
      messages: renderer.conversationOf(promptTokenIds).map(({ role, content }) => {
        if (role !== "tool") return { role, content };
        return toolRole ? { role, content, tool_call_id: "search" } : { role: "user", content };
      }),
    }),
    read: readChatCompletion,
  };
}
