import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ExactIndex } from "./exact-index.ts";
import { tieBreakers, topDocuments } from "./top-documents.ts";

const documentsNamed = (ids: readonly string[]) => ids.map((id) => ({ id, title: "", text: id }));

describe("topDocuments", () => {
  it("equals a full sort, whatever the scores", () => {
    const scores = fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 30 });
    fc.assert(
      fc.property(scores, fc.integer({ min: 1, max: 12 }), (values, topK) => {
        const documents = documentsNamed(values.map((_, index) => `d${index}`));
        const ties = tieBreakers(documents);
        const order = values
          .map((_, index) => index)
          .sort((left, right) => (values[right] as number) - (values[left] as number) || (ties[left] as number) - (ties[right] as number));
        const found = topDocuments(documents, values, ties, topK);
        expect(found.map(({ document }) => document.id)).toEqual(order.slice(0, topK).map((index) => `d${index}`));
        expect(found.map(({ rank }) => rank)).toEqual(found.map((_, position) => position + 1));
      }),
    );
  });
});

describe("ExactIndex", () => {
  const east = Float32Array.of(1, 0);
  const north = Float32Array.of(0, 1);

  it("ranks by inner product", () => {
    const index = new ExactIndex(documentsNamed(["east", "north"]), [east, north]);
    const found = index.search(Float32Array.of(0.25, 2), 5);
    expect(found.map(({ document, score }) => [document.id, score])).toEqual([
      ["north", 2],
      ["east", 0.25],
    ]);
  });

  it("orders equal scores by id, not by position", () => {
    const ids = ["a", "b", "c", "d", "e"];
    const search = (order: readonly string[]) =>
      new ExactIndex(
        documentsNamed(order),
        order.map(() => east),
      )
        .search(east, 3)
        .map(({ document }) => document.id);
    expect(search(ids)).toEqual(search(ids.toReversed()));
  });

  it("refuses vectors that don't fit", () => {
    expect(() => new ExactIndex(documentsNamed(["a"]), [])).toThrow("1 documents but 0 vectors");
    expect(() => new ExactIndex(documentsNamed(["a", "b"]), [east, Float32Array.of(1)])).toThrow("vector 1 has 1 dimensions, expected 2");
    expect(() => new ExactIndex(documentsNamed(["a"]), [east]).search(Float32Array.of(1), 1)).toThrow(
      "the query has 1 dimensions, the index 2",
    );
  });
});
