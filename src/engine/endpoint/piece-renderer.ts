import { ModelError } from "../../errors.ts";
import type { Message, Renderer, Segment } from "../renderer.ts";
import { PieceTable } from "./piece-table.ts";

/** A message as a chat endpoint takes it. */
export interface ChatMessage {
  readonly role: Message["role"];
  readonly content: string;
}

const roles = ["system", "user", "assistant", "tool"] as const;
/** Marks the end of a message; the markers of the roles are their places in `roles`. */
const endOfTurn = roles.length;
const firstText = endOfTurn + 1;

/**
 * The renderer for servers that take messages and keep their tokens to themselves. Text is cut into pieces of about a token's length, so
 * that budgets in tokens mean about what they say; markers delimit messages, from which `conversationOf` has them back exactly. No text
 * yields a marker, and none is special: markup and data are the same here, and the server keeps them apart by its own template.
 */
export class PieceRenderer implements Renderer {
  readonly stopTokenIds: readonly number[] = [endOfTurn];
  readonly specialTokenIds: readonly number[] = Array.from({ length: firstText }, (_, id) => id);

  constructor(private readonly table: PieceTable = new PieceTable()) {}

  /** Ids are below this; the pieces themselves are met as texts come. */
  get vocabularySize(): number {
    return this.table.size;
  }

  encodeMarkup(text: string): number[] {
    return this.table.encode(text);
  }

  encodeData(text: string): number[] {
    return this.table.encode(text);
  }

  /** Markers are spelled as <|user|>; the end of a turn is left out. */
  decode(tokenIds: readonly number[]): string {
    return tokenIds.map((id) => this.table.textOf(id) ?? (id < roles.length ? `<|${roles[id]}|>` : "")).join("");
  }

  /** No piece is a special token: protocols take their tags as strings. */
  tokenId(_piece: string): undefined {
    return undefined;
  }

  renderConversation(messages: readonly Message[]): number[] {
    return [...messages.flatMap((message) => this.rendered(message)), roles.indexOf("assistant")];
  }

  renderContinuation(messages: readonly Message[], lastTokenId: number | undefined): number[] {
    return [...(lastTokenId === endOfTurn ? [] : [endOfTurn]), ...this.renderConversation(messages)];
  }

  /**
   * The messages behind a prompt that `renderConversation` and `renderContinuation` made.
   * @throws ModelError for any other prompt.
   */
  conversationOf(tokenIds: readonly number[]): ChatMessage[] {
    const messages: ChatMessage[] = [];
    let at = 0;
    while (at < tokenIds.length - 1) {
      const role = roles[tokenIds[at] as number];
      const end = tokenIds.indexOf(endOfTurn, at);
      if (role === undefined || end < 0) throw notConversation();
      messages.push({ role, content: this.decode(this.texts(tokenIds.slice(at + 1, end))) });
      at = end + 1;
    }
    if (messages.length === 0 || roles[tokenIds[at] as number] !== "assistant") throw notConversation();
    return messages;
  }

  private rendered({ role, content }: Message): number[] {
    return [roles.indexOf(role), ...content.flatMap((segment) => this.table.encode(textOf(segment))), endOfTurn];
  }

  private texts(tokenIds: readonly number[]): readonly number[] {
    if (tokenIds.some((id) => this.table.textOf(id) === undefined)) throw notConversation();
    return tokenIds;
  }
}

const textOf = (segment: Segment): string => (typeof segment === "string" ? segment : segment.data);

function notConversation(): ModelError {
  return new ModelError(
    "a chat endpoint continues conversations only: the prompt must come from this endpoint's renderer and end where the assistant's turn begins",
  );
}
