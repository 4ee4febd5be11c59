/** The agent's side of the conversation: its prompt, its observations, where its turns stop and how they are read (Section 3.2, App. A.1). */
import type { Config } from "../config.ts";
import { labelPiece } from "../engine/grammar.ts";
import type { Message, Renderer, Segment } from "../engine/renderer.ts";
import { cutText, passageText } from "../retrieval/passage-text.ts";
import type { Document } from "../types.ts";
import { agentInstructions } from "./instructions.ts";
import { type AgentProtocolName, parseTurn } from "./parse-turn.ts";
import type { AgentProtocol } from "./protocol.ts";
import { type ProtocolTags, protocolTags } from "./protocol-tags.ts";
import { turnGrammar } from "./turn-grammar.ts";

/** How an agent is spoken to. */
export interface AgentProtocolOptions {
  readonly protocol: AgentProtocolName;
  /** full: written instructions; compact: the bare question, for tiny models whose chat template adds the markers. */
  readonly prompt: "full" | "compact";
  /** Mask tokens that the protocol forbids. @throws ConfigError when a tag isn't one token of the vocabulary. */
  readonly grammar: boolean;
  /** All observation text of a turn is cut at this length. */
  readonly observationCharacters: number;
  /** K: documents in an observation. */
  readonly topK: number;
  /** Told to the model in the full style. */
  readonly maxSearches: number;
}

/** The protocol of a model. Whatever a question or a document spells stays data: it never becomes a special token. */
export function agentProtocol(renderer: Renderer, options: AgentProtocolOptions): AgentProtocol {
  const tags = protocolTags[options.protocol];
  const labels = Array.from({ length: options.topK }, (_, index) => labelPiece(renderer, index + 1));
  return {
    name: options.protocol,
    stop: stops(renderer, tags),
    ...(options.grammar ? { grammar: turnGrammar(renderer, tags) } : {}),
    promptTokens({ question }) {
      const user: Message = { role: "user", content: [{ data: question }] };
      if (options.prompt === "compact") return renderer.renderConversation([user]);
      const system: Message = { role: "system", content: [agentInstructions(options.protocol, options.maxSearches)] };
      return renderer.renderConversation([system, { ...user, content: ["Question: ", ...user.content] }]);
    },
    observationTokens(documents, lastTokenId) {
      const shown = cutDocuments(documents, options.observationCharacters);
      const message = options.prompt === "compact" ? compactObservation(shown, labels) : fullObservation(shown, options.protocol);
      return renderer.renderContinuation([message], lastTokenId);
    },
    parse: (text) => parseTurn(text, options.protocol),
  };
}

/** The agent protocol that the configuration asks for. @throws ConfigError when its grammar doesn't fit the vocabulary. */
export function agentProtocolFor(config: Config, renderer: Renderer): AgentProtocol {
  const { protocol, prompt, grammar, observationCharacters, maxSearches } = config.agent;
  return agentProtocol(renderer, { protocol, prompt, grammar, observationCharacters, maxSearches, topK: config.ranker.topK });
}

/** A turn ends with its closing tag: a token where the vocabulary has one (the last piece of `"}}</tool_call>` included), else a stop string. */
function stops(renderer: Renderer, tags: ProtocolTags): AgentProtocol["stop"] {
  const tokenIds = [...renderer.stopTokenIds];
  const strings: string[] = [];
  for (const closing of [tags.search[1], tags.answer[1]]) {
    const tag = closing.slice(closing.indexOf("<"));
    const ids = [renderer.tokenId(closing), renderer.tokenId(tag)].filter((id) => id !== undefined);
    if (ids.length > 0) tokenIds.push(...ids);
    else strings.push(tag);
  }
  return { tokenIds: [...new Set(tokenIds)], strings };
}

/** The documents as an observation shows them: passages as `text`, together at most `characters` long; documents beyond that are not shown. */
export function cutDocuments(documents: readonly Document[], characters: number): Document[] {
  let room = characters;
  return documents.flatMap((document) => {
    if (room <= 0) return [];
    const text = cutText(passageText(document), room);
    room -= text.length;
    return [{ ...document, text }];
  });
}

/** Each passage, then its label: a tiny model reads the passage before it meets the `[i]` that it may refer to. */
function compactObservation(documents: readonly Document[], labels: readonly string[]): Message {
  return { role: "tool", content: documents.flatMap(({ text }, index): Segment[] => [{ data: text }, labels[index] ?? `[${index + 1}]`]) };
}

function fullObservation(documents: readonly Document[], protocol: AgentProtocolName): Message {
  const listed = documents.flatMap(({ text }, index): Segment[] => [`${index === 0 ? "" : "\n"}[${index + 1}] `, { data: text }]);
  const content: Segment[] = listed.length > 0 ? listed : ["No documents were found."];
  return protocol === "cosearch"
    ? { role: "tool", content }
    : { role: "user", content: ["<information>\n", ...content, "\n</information>"] };
}
