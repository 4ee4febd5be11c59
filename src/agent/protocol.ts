import type { TokenGrammar } from "../engine/engine.ts";
import type { Action, Document, Question } from "../types.ts";
import type { AgentProtocolName } from "./parse-turn.ts";

/** How an agent talks: its prompt, how documents come back, how a turn is read. Text in, tokens out; made by `agentProtocol`. */
export interface AgentProtocol {
  readonly name: AgentProtocolName;
  readonly stop: { readonly tokenIds: readonly number[]; readonly strings: readonly string[] };
  /** Present when the configuration asks for grammar masking and every tag is one token of this vocabulary. */
  readonly grammar?: TokenGrammar;
  promptTokens(question: Question): number[];
  /** Tokens to append after a search turn (whose output ended with `lastTokenId`): the documents, cut at the configured length. */
  observationTokens(documents: readonly Document[], lastTokenId: number | undefined): number[];
  parse(text: string): Action;
}
