import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Document } from "../../types.ts";
import { fromWire, toWire } from "./retrieve-wire.ts";

const answer = (...items: readonly unknown[]) => ({ result: [items] });
const only = (item: unknown) => fromWire(answer(item), 1, 5)[0]?.[0];

describe("the wire", () => {
  it("sends the title in quotes as the first line", () => {
    expect(toWire({ id: "7", title: "Oslo", text: "A city." })).toEqual({ id: "7", contents: '"Oslo"\nA city.' });
    expect(toWire({ id: "7", title: "Two\n lines", text: "" }).contents).toBe('"Two lines"\n');
  });

  it("reads back what it sends", () => {
    const line = fc.string({ unit: "grapheme" }).filter((text) => !/[\r\n]/.test(text));
    const document = fc.record({ id: fc.string({ minLength: 1 }), title: line, text: fc.string({ unit: "grapheme" }) });
    fc.assert(
      fc.property(document, fc.double({ noNaN: true, min: -1e9, max: 1e9 }), (sent: Document, score) => {
        const received = fromWire(JSON.parse(JSON.stringify(answer({ document: toWire(sent), score }))), 1, 3);
        expect(received).toEqual([[{ document: sent, score: score === 0 ? 0 : score, rank: 1 }]]);
      }),
    );
  });

  it.each([
    [
      { document: { id: 12, contents: '"Rome"\nIt is old.' }, score: 2 },
      { id: "12", title: "Rome", text: "It is old." },
    ],
    [
      { document: { title: "Rome", text: "old", contents: '"Rome"\nold' }, score: 1 },
      { title: "Rome", text: "old" },
    ],
    [
      { id: "a", contents: "no title" },
      { id: "a", title: "", text: "no title" },
    ],
    [
      { _id: "b", text: "x" },
      { id: "b", title: "", text: "x" },
    ],
  ])("reads %j", (item, document) => {
    expect(only(item)?.document).toMatchObject(document);
  });

  it("gives a passage without an id the same one every time, and ranks as scores where there are none", () => {
    const [list] = fromWire(answer({ document: { contents: "a" } }, { document: { contents: "b" } }), 1, 5);
    const ids = list?.map(({ document }) => document.id) ?? [];
    expect(new Set(ids).size).toBe(2);
    expect(only({ contents: "b" })?.document.id).toBe(ids[1]);
    expect(list?.map(({ score, rank }) => [score, rank])).toEqual([
      [1, 1],
      [1 / 2, 2],
    ]);
  });

  it("leaves out FAISS's fillers and what is beyond topK", () => {
    const item = (id: number, score: number) => ({ document: { id, contents: "x" }, score });
    const list = answer(item(1, 0.5), item(9, -3.4028234663852886e38), item(2, -4), item(9, 3.4028234663852886e38), item(3, -5));
    expect(fromWire(list, 1, 2)[0]?.map(({ document, rank }) => [document.id, rank])).toEqual([
      ["1", 1],
      ["2", 2],
    ]);
  });

  it.each([
    [[], /expected \{"result": \[\.\.\.\]\}, got \[\]/],
    [{ results: [] }, /expected \{"result"/],
    [{ result: [[], []] }, /2 result lists for 1 queries/],
    [{ result: ["x"] }, /result\[0\]: expected a list, got "x"/],
    [answer({ document: { id: 1 }, score: 1 }), /result\[0\]\[0\]\.document: expected contents or text, got \{"id":1\}/],
    [answer({ contents: "x" }, null), /result\[0\]\[1\]: expected a document, got null/],
    [answer({ document: { contents: "x" }, score: "high" }), /result\[0\]\[0\]\.score: expected a number, got "high"/],
    [answer({ document: "x" }), /result\[0\]\[0\]\.document: expected an object/],
  ])("refuses %j", (malformed, message) => {
    expect(() => fromWire(malformed, 1, 5)).toThrow(message);
  });
});
