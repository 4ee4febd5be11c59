/** Tokenisation and chat rendering beside transformers': texts as markup and as data, conversations of both. */
import { loadRenderer } from "../src/engine/hf-renderer.ts";
import type { Message } from "../src/engine/renderer.ts";
import type { LineProcess } from "./line-process.ts";
import { parityConversations, parityTexts } from "./parity-texts.ts";

/** Token ids of the peer; a conversation that its template refuses is null, and all are where it has no template. */
interface PeerTokens {
  readonly class: string;
  readonly markup: readonly (readonly number[])[];
  readonly data: readonly (readonly number[])[];
  readonly chats: readonly (readonly number[] | null)[] | null;
  readonly dataChats: readonly (readonly number[] | null)[] | null;
}

/** What was compared, and where both differ. */
export interface TokenParity {
  readonly tokenizer: string;
  readonly texts: number;
  readonly conversations: number;
  /** Conversations that the template refuses on both sides. */
  readonly refused: number;
  /** Up to ten, in words. */
  readonly differences: readonly string[];
  readonly different: number;
}

/** Compares `count` texts and as many conversations. */
export async function tokenParity(peer: LineProcess, model: string, count: number): Promise<TokenParity> {
  const renderer = await loadRenderer(model);
  const texts = parityTexts(1, count);
  const conversations = parityConversations(2, count);
  const theirs = await peer.request<PeerTokens>({ task: "tokenize", tokenizer: model, texts, conversations });
  const differences: string[] = [];
  const compare = (kind: string, input: unknown, own: readonly number[] | null, other: readonly number[] | null | undefined) => {
    if (own?.join() !== other?.join()) differences.push(`${kind} ${JSON.stringify(input)}: [${own}], transformers [${other}]`);
  };
  texts.forEach((text, index) => {
    compare("markup", text, renderer.encodeMarkup(text), theirs.markup[index]);
    compare("data", text, renderer.encodeData(text), theirs.data[index]);
  });
  const render = (messages: readonly Message[]) => {
    try {
      return renderer.renderConversation(messages);
    } catch {
      return null;
    }
  };
  let refused = 0;
  if (theirs.chats !== null) {
    conversations.forEach((messages, index) => {
      const own = render(messages.map(({ role, content }) => ({ role, content: [content] })));
      if (own === null) refused += 1;
      compare("conversation", messages, own, theirs.chats?.[index]);
      const data = render(messages.map(({ role, content }) => ({ role, content: [{ data: content }] })));
      compare("conversation of data", messages, data, theirs.dataChats?.[index]);
    });
  }
  return {
    tokenizer: theirs.class,
    texts: texts.length,
    conversations: theirs.chats === null ? 0 : conversations.length,
    refused,
    different: differences.length,
    differences: differences.slice(0, 10),
  };
}
