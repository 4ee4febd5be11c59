import { expect, it } from "vitest";
import { ChatTemplate, type RenderedSegment } from "./chat-template.ts";
import type { Message } from "./renderer.ts";

/** How families of instruction-tuned models lay out conversations; only what differs between them. */
const templates: Readonly<Record<string, string>> = {
  "a system message of its own where there is none":
    "{% if messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are helpful.<|im_end|>\n' }}{% endif %}{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
  "tool results inside a user's turn":
    "{% for message in messages %}{% if message.role == 'tool' %}{% if loop.index0 == 0 or messages[loop.index0 - 1].role != 'tool' %}{{ '<|im_start|>user' }}{% endif %}{{ '\n<tool_response>\n' + message.content + '\n</tool_response>' }}{% if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{ '<|im_end|>\n' }}{% endif %}{% else %}{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
  "headers, and contents that are trimmed":
    "{{ bos_token }}{% for message in messages %}{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' + message['content'] | trim + '<|eot_id|>' }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}",
};

const text = (segments: readonly RenderedSegment[]) => segments.map((one) => ("data" in one ? one.data : one.markup)).join("");
const message = (role: Message["role"], content: string): Message => ({ role, content: [{ data: content }] });

it.each(Object.entries(templates))("appends to what was sampled just what the whole conversation would hold: %s", (_, source) => {
  const template = new ChatTemplate(source, { bos_token: "<s>" }, "model");
  const prompt = [message("user", "Which river?")];
  const turn = "<reason>look</reason><search>rivers</search>";
  const observation = [message("tool", "[1] The Rhine")];
  const context = text(template.conversation(prompt)) + turn;
  const once = context + text(template.continuation(observation));
  expect(once).toBe(text(template.conversation([...prompt, message("assistant", turn), ...observation])));
  const twice = `${once}${turn}${text(template.continuation([message("tool", "[1] The Elbe")]))}`;
  expect(twice.startsWith(context)).toBe(true);
  expect(twice).toBe(
    text(
      template.conversation([
        ...prompt,
        message("assistant", turn),
        ...observation,
        message("assistant", turn),
        message("tool", "[1] The Elbe"),
      ]),
    ),
  );
});

it("appends to a turn as it was sampled even where the template would strip earlier turns", () => {
  const strips =
    "{% for message in messages %}{{ '<' + message.role + '>' + (message.content if message.role != 'assistant' or loop.last else message.content.split('</think>')[-1]) }}{% endfor %}{{ '<assistant>' }}";
  const template = new ChatTemplate(strips, {}, "model");
  const sampled = "<think>hm</think>rivers";
  const context = text(template.conversation([message("user", "Q")])) + sampled;
  expect(context + text(template.continuation([message("tool", "R")]))).toBe(`<user>Q<assistant>${sampled}<tool>R<assistant>`);
});
