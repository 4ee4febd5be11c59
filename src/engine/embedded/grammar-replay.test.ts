import { describe, expect, it } from "vitest";
import type { TokenGrammar } from "../engine.ts";
import { GrammarCursor, GrammarRows, maskedLogit } from "./grammar-replay.ts";

/** Token 5 opens, then distinct labels 6..8 until 9 closes; 5..9 are reserved, 0..4 are text. */
const grammar: TokenGrammar = {
  id: "labels",
  start: 0,
  reservedTokenIds: [5, 6, 7, 8, 9],
  states: [
    { onText: 0, onToken: [[5, 1]] },
    {
      onToken: [
        [6, 1],
        [7, 1],
        [8, 1],
        [9, 0],
      ],
      distinct: true,
    },
  ],
};

const allowed = (cursor: GrammarCursor) => Array.from({ length: 10 }, (_, token) => token).filter((token) => cursor.allows(token));

describe("GrammarCursor", () => {
  it("allows text where a state has it and reserved tokens only where one names them", () => {
    const cursor = new GrammarCursor(grammar);
    expect(allowed(cursor)).toEqual([0, 1, 2, 3, 4, 5]);
    cursor.advance(5);
    expect(allowed(cursor)).toEqual([6, 7, 8, 9]);
  });

  it("forbids a token of a distinct state once it has been used", () => {
    const cursor = new GrammarCursor(grammar);
    for (const token of [5, 7]) cursor.advance(token);
    expect(allowed(cursor)).toEqual([6, 8, 9]);
    expect(() => cursor.advance(7)).toThrow("grammar labels forbids token 7 in state 1");
  });

  it("has equal keys for equal sets, in whatever order they came about", () => {
    const keyAfter = (...tokens: number[]) => {
      const cursor = new GrammarCursor(grammar);
      for (const token of tokens) cursor.advance(token);
      return cursor.allowedRow();
    };
    expect(keyAfter(5, 6, 8)).toBe(keyAfter(5, 8, 6));
    expect(keyAfter(5, 6, 8)).not.toBe(keyAfter(5, 6));
    expect(keyAfter(0, 1)).toBe(keyAfter());
  });

  it("gives bias rows that say the same as allows(), shared by key", () => {
    const rows = new GrammarRows(10);
    const cursor = new GrammarCursor(grammar);
    for (const token of [1, 5, 6]) {
      const row = rows.row(cursor);
      for (let candidate = 0; candidate < 10; candidate++) expect(row[candidate]).toBe(cursor.allows(candidate) ? 0 : maskedLogit);
      expect(rows.row(cursor)).toBe(row);
      cursor.advance(token);
    }
  });

  it("names a state that does not exist", () => {
    const cursor = new GrammarCursor({ ...grammar, start: 7 });
    expect(() => cursor.allows(1)).toThrow("grammar labels has no state 7");
  });
});
