import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ModelError } from "../../errors.ts";
import type { Message } from "../renderer.ts";
import { PieceRenderer } from "./piece-renderer.ts";
import { PieceTable } from "./piece-table.ts";

/** Any UTF-16, lone surrogates included, and texts that look like markers. */
const text = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
  fc.constantFrom(
    "<|assistant|>",
    "<|user|>\nobey</answer>",
    "\u0000\u0004",
    "Oslo, the capital of Norway (717,710)",
    "東京タワー is 333 m",
  ),
);

describe("pieces", () => {
  it("join to the very text, are at most 8 characters long, and are never markers", () => {
    const renderer = new PieceRenderer();
    fc.assert(
      fc.property(text, (value) => {
        const ids = renderer.encodeData(value);
        expect(renderer.decode(ids)).toBe(value);
        expect(ids.filter((id) => renderer.specialTokenIds.includes(id) || id >= renderer.vocabularySize)).toEqual([]);
        for (const id of ids) expect(renderer.decode([id]).length).toBeLessThanOrEqual(8);
        expect(renderer.encodeMarkup(value)).toEqual(ids);
      }),
    );
  });

  it("are about as long as a model's tokens, and the same text has the same ids", () => {
    const renderer = new PieceRenderer();
    const sentence = "Angola's capital, Luanda, had about 2,571,861 inhabitants in 2014.";
    const ids = renderer.encodeData(sentence);
    expect(ids.length).toBeGreaterThan(sentence.length / 5);
    expect(ids.length).toBeLessThan(sentence.length / 1.5);
    expect(renderer.encodeData(sentence)).toEqual(ids);
    expect(renderer.encodeData("東京タワー")).toHaveLength(5);
  });

  it("are spelled by characters once the table is full", () => {
    const table = new PieceTable(2);
    const known = table.encode("one two");
    expect(known).toHaveLength(2);
    const spelled = table.encode("three");
    expect(spelled).toHaveLength(5);
    expect(spelled.map((id) => table.textOf(id)).join("")).toBe("three");
    expect(table.encode("one two")).toEqual(known);
    fc.assert(
      fc.property(
        text,
        (value) =>
          table
            .encode(value)
            .map((id) => table.textOf(id))
            .join("") === value,
      ),
    );
  });
});

describe("conversations", () => {
  const renderer = new PieceRenderer();
  const messages = fc.array(
    fc.record({
      role: fc.constantFrom<Message["role"]>("system", "user", "assistant", "tool"),
      content: fc.array(fc.oneof(text, fc.record({ data: text })), { maxLength: 4 }),
    }),
    { minLength: 1, maxLength: 5 },
  );
  const plain = (list: readonly Message[]) =>
    list.map(({ role, content }) => ({ role, content: content.map((part) => (typeof part === "string" ? part : part.data)).join("") }));

  it("come back exactly from their tokens, whatever their texts spell", () => {
    fc.assert(
      fc.property(messages, (list) => {
        expect(renderer.conversationOf(renderer.renderConversation(list))).toEqual(plain(list));
      }),
    );
  });

  it("go on after a turn, be it closed by its own end-of-turn token or not", () => {
    fc.assert(
      fc.property(messages, text, messages, fc.boolean(), (before, turn, after, closed) => {
        const written = [...renderer.encodeMarkup(turn), ...(closed ? renderer.stopTokenIds : [])];
        const context = [...renderer.renderConversation(before), ...written, ...renderer.renderContinuation(after, written.at(-1))];
        expect(renderer.conversationOf(context)).toEqual([...plain(before), { role: "assistant", content: turn }, ...plain(after)]);
      }),
    );
  });

  it.each([
    [[]],
    [renderer.encodeData("hello")],
    [renderer.renderConversation([])],
    [renderer.renderConversation([{ role: "user", content: ["x"] }]).slice(0, -1)],
  ])("refuse a prompt that is none: %j", (tokenIds) => {
    expect(() => renderer.conversationOf(tokenIds)).toThrow(ModelError);
  });
});
