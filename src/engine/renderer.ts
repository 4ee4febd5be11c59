/** What agent and ranker need of a tokenizer and chat template. Implemented over Hugging Face files in hf-renderer.ts. */

/** A piece of a message: trusted markup, in which special tokens are recognised, or data, in which none ever is. */
export type Segment = string | { readonly data: string };

/** One message of a conversation. */
export interface Message {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: readonly Segment[];
}

/** From text and conversations to tokens, and back. */
export interface Renderer {
  readonly vocabularySize: number;
  /** End-of-text / end-of-turn tokens at which every generation stops. */
  readonly stopTokenIds: readonly number[];
  /** Trusted markup: special tokens are recognised. */
  encodeMarkup(text: string): number[];
  /** Untrusted text: never yields a special token, whatever the text spells. */
  encodeData(text: string): number[];
  /** Text of the tokens, special ones included (spelled out), end-of-turn tokens left out. */
  decode(tokenIds: readonly number[]): string;
  /** The id of a piece that is exactly one (special) token, or undefined. */
  tokenId(piece: string): number | undefined;
  /** Every special (added) token id. */
  readonly specialTokenIds: readonly number[];
  /** A whole conversation with the generation prompt, through the model's chat template. */
  renderConversation(messages: readonly Message[]): number[];
  /** The tokens to append after an assistant turn whose output ended with `lastTokenId`: closing of the turn, the new messages, the generation prompt. */
  renderContinuation(messages: readonly Message[], lastTokenId: number | undefined): number[];
}
