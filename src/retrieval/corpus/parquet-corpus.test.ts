import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Entry } from "./entry.ts";
import { parquetEntries } from "./parquet-corpus.ts";

const fixture = (name: string) => fileURLToPath(new URL(`../../../test/fixtures/retrieval/${name}`, import.meta.url));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "parquet-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function read(file: string): Promise<{ batches: number; entries: Entry[]; bytes: number }> {
  const entries: Entry[] = [];
  let batches = 0;
  let bytes = 0;
  for await (const batch of parquetEntries(file, (count) => (bytes += count))) {
    batches++;
    entries.push(...batch);
  }
  return { batches, entries, bytes };
}

const titles = ["Harbour of Quill", "Lake Ardent", ""];
const bodies = [
  "Quill is an invented town. Its harbour opened in 1902.",
  "Lake Ardent freezes every winter — even in Düne.",
  "A passage without a title.",
];
const expected = (id: (row: number) => string) =>
  Array.from({ length: 7 }, (_, row) => ({ id: id(row), title: titles[row % 3], text: `${bodies[row % 3]} Row ${row + 1}.` }));

describe("parquetEntries", () => {
  it.each([
    ["snappy.parquet", "int64 ids beyond 2^53", 3, (row: number) => String(2n ** 53n + 1n + BigInt(row))],
    ["zstd.parquet", "BEIR's names and pages of the second version", 2, (row: number) => `d${row}`],
    ["gzip.parquet", "int32 ids and Search-R1's contents", 1, (row: number) => String(row)],
  ])("reads %s: %s, row group by row group", async (name, _, groups, id) => {
    const { batches, entries, bytes } = await read(fixture(name));
    expect(entries.map((entry) => "document" in entry && entry.document)).toEqual(expected(id));
    expect(entries.map(({ place }) => place)).toEqual(entries.map((_, row) => ({ file: fixture(name), line: row + 1 })));
    expect(batches).toBe(groups);
    expect(bytes).toBe((await readFile(fixture(name))).length);
  });

  it("gives the row of a passage without id or text, or with bytes that are not UTF-8", async () => {
    const { entries } = await read(fixture("holes.parquet"));
    expect(entries.map((entry) => ("document" in entry ? entry.document : [entry.place.line, entry.reason]))).toEqual([
      { id: "a", title: "A", text: "one" },
      { id: "b", title: "", text: "two" },
      [3, "id must be a non-empty string or a whole number, got nothing: give every passage an id"],
      [4, 'text must be a non-empty string, got nothing (id "d"): remove the passage or fill it'],
    ]);
    const [fine, bad] = (await read(fixture("latin1.parquet"))).entries;
    expect(fine).toMatchObject({ document: { id: "a", text: "fine" } });
    expect(bad).toMatchObject({ place: { line: 2 }, reason: expect.stringContaining('got "bytes that are not UTF-8" (id "b")') });
  });

  it("names the columns where text or id is missing", async () => {
    await expect(read(fixture("no-text.parquet"))).rejects.toThrow(
      "no-text.parquet: has no column id (or _id, docid); it has query, answer: rename the column, or name other files",
    );
  });

  it("names a file that is missing, cut off, or damaged inside", async () => {
    await expect(read(join(folder, "none.parquet"))).rejects.toThrow("none.parquet: can't be read (ENOENT)");
    const bytes = await readFile(fixture("snappy.parquet"));
    const cut = join(folder, "cut.parquet");
    for (const size of [0, 3, 100, bytes.length - 1]) {
      await writeFile(cut, bytes.subarray(0, size));
      await expect(read(cut), `${size} bytes`).rejects.toThrow(/cut\.parquet: can't be read as Parquet \(.*\): fetch it again/);
    }
    const damaged = join(folder, "damaged.parquet");
    await writeFile(damaged, Buffer.concat([bytes.subarray(0, 4), Buffer.alloc(600, 0xff), bytes.subarray(604)]));
    await expect(read(damaged)).rejects.toThrow(/damaged\.parquet:1: can't be read as Parquet/);
  });
});
