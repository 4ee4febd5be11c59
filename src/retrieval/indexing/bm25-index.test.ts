import { describe, expect, it } from "vitest";
import { Bm25Index } from "./bm25-index.ts";

const document = (id: string, text: string) => ({ id, title: "", text });
const documents = [document("one", "apple bear"), document("two", "apple apple cat"), document("three", "dog")];

describe("Bm25Index", () => {
  it("scores as computed by hand", () => {
    const found = new Bm25Index(documents, { k1: 1.2, b: 0.75 }).search("apple", 3);
    // N = 3, n = 2: idf = ln(1 + 1.5 / 2.5) = ln 1.6; lengths 2, 3, 1, mean 2.
    const idf = Math.log(1.6);
    expect(found.map(({ document, rank }) => [document.id, rank])).toEqual([
      ["two", 1],
      ["one", 2],
      ["three", 3],
    ]);
    expect(found[0]?.score).toBeCloseTo((idf * 2 * 2.2) / (2 + 1.2 * (0.25 + 0.75 * 1.5)), 12);
    expect(found[1]?.score).toBeCloseTo((idf * 1 * 2.2) / (1 + 1.2), 12);
    expect(found[2]?.score).toBe(0);
  });

  it("ignores length at b = 0 and counts at k1 = 0", () => {
    const scores = (k1: number, b: number) =>
      new Map(new Bm25Index(documents, { k1, b }).search("apple", 3).map((found) => [found.document.id, found.score]));
    expect(scores(0, 0).get("one")).toBe(scores(0, 0).get("two"));
    expect(scores(1.2, 0).get("two")).toBeGreaterThan(scores(1.2, 0.75).get("two") as number);
  });

  it("searches titles, without regard to case and accents", () => {
    const index = new Bm25Index([{ id: "peru", title: "Perú", text: "Lima is a city." }, ...documents]);
    expect(index.search("PERU", 1)[0]?.document.id).toBe("peru");
    expect(index.search("", 2).map(({ score }) => score)).toEqual([0, 0]);
  });
});
