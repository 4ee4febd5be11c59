/** Renders messages through a Jinja chat template without letting data be read as markup. */
import { Template } from "@huggingface/jinja";
import { ModelError } from "../errors.ts";
import type { Message, Segment } from "./renderer.ts";

// Private-use characters: no tokenizer file or template spells them, and neither trimming nor lower-casing changes them.
const open = "\ue0f0";
const close = "\ue0f1";

/** A conversation's text as the template lays it out: markup, and the data segments where they came to stand. */
export type RenderedSegment = { readonly markup: string } | { readonly data: string };

/** A model's chat template. Data travels through it as sentinels, so that it reaches the tokenizer untouched. */
export class ChatTemplate {
  private readonly template: Template;

  /** @param source Jinja; `tokens` are the names a template may use (bos_token, eos_token, ...); `place` is named in errors. */
  constructor(
    source: string,
    private readonly tokens: Readonly<Record<string, string>>,
    private readonly place: string,
  ) {
    try {
      this.template = new Template(source);
    } catch (error) {
      throw new ModelError(`${place}: chat_template can't be parsed: ${(error as Error).message}`, { cause: error });
    }
  }

  /**
   * The conversation with the generation prompt.
   * @throws ModelError when the template fails or leaves out a data segment.
   */
  conversation(messages: readonly Message[]): RenderedSegment[] {
    const data: string[] = [];
    const rendered = this.render(messages, data);
    const segments = split(rendered, data);
    data.forEach((_, index) => {
      if (!rendered.includes(sentinel(index))) {
        throw new ModelError(
          `${this.place}: the chat template leaves out a part of the conversation (roles: ${messages.map((message) => message.role).join(", ")})`,
        );
      }
    });
    return segments;
  }

  /** What follows an assistant turn: its closing, the new messages and the generation prompt. */
  continuation(messages: readonly Message[]): RenderedSegment[] {
    const data: string[] = [];
    const context: Message[] = [
      { role: "user", content: [{ data: "" }] },
      { role: "assistant", content: [{ data: "" }] },
    ];
    const rendered = this.render([...context, ...messages], data);
    const turn = sentinel(1);
    const end = rendered.lastIndexOf(turn);
    if (end < 0)
      throw new ModelError(`${this.place}: the chat template leaves out the assistant's turn, so that a conversation can't go on after it`);
    return split(rendered.slice(end + turn.length), data);
  }

  private render(messages: readonly Message[], data: string[]): string {
    const plain = messages.map((message) => ({
      role: message.role,
      content: message.content.map((segment) => withSentinel(segment, data)).join(""),
    }));
    try {
      return this.template.render({ messages: plain, add_generation_prompt: true, ...this.tokens });
    } catch (error) {
      throw new ModelError(
        `${this.place}: the chat template failed (roles: ${messages.map((message) => message.role).join(", ")}): ${(error as Error).message}; mend chat_template, or where it is a role that it refuses choose another prompt (the compact ones have no system message)`,
        { cause: error },
      );
    }
  }
}

const sentinel = (index: number) => `${open}${index}${close}`;

function withSentinel(segment: Segment, data: string[]): string {
  // Markup is ours, but a stray sentinel character in it must not be taken for data.
  if (typeof segment === "string") return segment.replaceAll(open, "").replaceAll(close, "");
  return sentinel(data.push(segment.data) - 1);
}

function split(rendered: string, data: readonly string[]): RenderedSegment[] {
  const segments: RenderedSegment[] = [];
  const pattern = new RegExp(`${open}(\\d+)${close}`, "g");
  let position = 0;
  for (const match of rendered.matchAll(pattern)) {
    if (match.index > position) segments.push({ markup: rendered.slice(position, match.index) });
    segments.push({ data: data[Number(match[1])] as string });
    position = match.index + match[0].length;
  }
  if (position < rendered.length) segments.push({ markup: rendered.slice(position) });
  return segments;
}
