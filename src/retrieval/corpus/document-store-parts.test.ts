import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Place } from "./corpus-stream.ts";
import { RowsById } from "./document-store-ids.ts";
import { PlacesOfRows } from "./document-store-places.ts";

describe("RowsById", () => {
  it("names the row of every id, also when hashes collide", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string(), { maxLength: 60 }), fc.constantFrom(1, 3, 2 ** 32), (ids, hashes) => {
        const rows = new RowsById((id) => (id.length * 2654435761) % hashes, 4);
        ids.forEach((id, row) => {
          rows.add(id, row);
        });
        ids.forEach((id, row) => {
          expect([...rows.candidates(id)]).toContain(row);
        });
      }),
    );
  });

  it("names nothing for most unknown ids and stays small", () => {
    const rows = new RowsById();
    const count = 100_000;
    for (let row = 0; row < count; row++) rows.add(`id-${row}`, row);
    let named = 0;
    for (let row = 0; row < count; row++) named += [...rows.candidates(`other-${row}`)].length;
    // Chance names count² / 2³² = 2.3 of them.
    expect(named).toBeLessThan(20);
    expect(rows.bytes / count).toBeLessThan(22);
  });
});

describe("PlacesOfRows", () => {
  it("remembers any places", () => {
    const place: fc.Arbitrary<Place> = fc.oneof(
      fc.record({ file: fc.constantFrom("a", "b"), line: fc.integer({ min: 1, max: 9 }) }),
      fc.record({ file: fc.constantFrom("a", "b") }),
    );
    fc.assert(
      fc.property(fc.array(place, { minLength: 1, maxLength: 40 }), (places) => {
        const rows = new PlacesOfRows();
        for (const one of places) rows.add(one);
        expect(places.map((_, row) => rows.at(row))).toEqual(places);
      }),
    );
  });
});
