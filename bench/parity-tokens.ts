/** Texts and chats: token for token as transformers makes them. */
import { loadRenderer } from "../src/engine/hf-renderer.ts";
import type { Message } from "../src/engine/renderer.ts";
import type { ParityRun } from "./parity-checks.ts";
import { type PlainMessage, parityConversations, parityTexts } from "./parity-texts.ts";

type Ids = readonly number[];

interface PeerTokens {
  readonly markup: readonly Ids[];
  readonly data: readonly Ids[];
  /** Null: the tokenizer has no template; an entry: the template refused the conversation. */
  readonly chats: readonly (Ids | null)[] | null;
  readonly dataChats: readonly (Ids | null)[] | null;
  /** Which tokenizer it was, and what had to be mended in how transformers reads a GGUF file. */
  readonly peer: object;
}

/** Compares encoding as markup and as data, and chats whose contents are markup and data. */
export async function compareTokens(model: string, tokenizer: string, run: ParityRun): Promise<void> {
  const count = run.quick ? 160 : 500;
  const texts = parityTexts(1, count);
  const conversations = parityConversations(1, count);
  const renderer = await loadRenderer(tokenizer);
  const peer = await run.peer.request<PeerTokens>({ task: "tokenize", tokenizer, texts, conversations });
  run.report.note({ model, texts: count, conversations: count, ...peer.peer });

  const compare = <Item>(check: string, items: readonly Item[], expected: readonly (Ids | null)[], encode: (item: Item) => Ids) => {
    const different: Item[] = [];
    let refused = 0;
    for (const [index, item] of items.entries()) {
      const found = orRefused(() => encode(item));
      if (found === null) refused += 1;
      if (JSON.stringify(found) !== JSON.stringify(expected[index] ?? null)) different.push(item);
    }
    run.report.check({ check, model, compared: items.length, refused, examples: different.slice(0, 3) }, different.length, 0);
  };
  compare("texts that encode otherwise", texts, peer.markup, (text) => renderer.encodeMarkup(text));
  compare("texts that encode otherwise as data", texts, peer.data, (text) => renderer.encodeData(text));
  const special = texts.filter((text) => renderer.encodeData(text).some((id) => renderer.specialTokenIds.includes(id)));
  run.report.check({ check: "texts that yield special tokens as data", model, compared: texts.length }, special.length, 0);
  if (peer.chats === null || peer.dataChats === null) return;
  const chat = (messages: readonly PlainMessage[], segment: (text: string) => Message["content"]) =>
    renderer.renderConversation(messages.map(({ role, content }) => ({ role, content: segment(content) })));
  compare("chats that render otherwise", conversations, peer.chats, (messages) => chat(messages, (text) => [text]));
  compare("chats that render otherwise, contents as data", conversations, peer.dataChats, (messages) =>
    chat(messages, (text) => [{ data: text }]),
  );
}

/** Null where a template refuses a conversation, which both sides must do. */
function orRefused(encode: () => Ids): Ids | null {
  try {
    return encode();
  } catch (error) {
    if ((error as Error).message.includes("the chat template")) return null;
    throw error;
  }
}
