import { createHash } from "node:crypto";
import { appendFile, mkdtemp, readFile, rm, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Document } from "../../types.ts";
import type { PlacedDocument, SkippedPassage } from "./corpus-stream.ts";
import { openDocumentStore, openDocumentWriter } from "./document-store.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "document-store-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const placed = (id: string, line: number, file = "corpus.jsonl"): PlacedDocument => ({
  document: { id, title: `Title ${id}`, text: `Text of ${id}` },
  place: { file, line },
});

async function store(batches: readonly (readonly PlacedDocument[])[], onSkip?: (passage: SkippedPassage) => void) {
  const writer = await openDocumentWriter(folder, onSkip ? { onSkip } : {});
  try {
    for (const batch of batches) await writer.append(batch);
    return await writer.finish();
  } finally {
    await writer.close();
  }
}

describe("document store", () => {
  it("gives back any documents, whatever they hold and however they are batched", async () => {
    const text = fc.string({ unit: "binary" });
    const documents = fc.uniqueArray(fc.record({ id: fc.string({ unit: "binary", minLength: 1 }), title: text, text }), {
      selector: ({ id }) => id,
      minLength: 1,
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(documents, fc.integer({ min: 1, max: 5 }), async (all, size) => {
        const batches: PlacedDocument[][] = [];
        for (let from = 0; from < all.length; from += size) {
          batches.push(all.slice(from, from + size).map((document, index) => ({ document, place: { file: "a", line: from + index + 1 } })));
        }
        const stored = await store(batches);
        const opened = await openDocumentStore(folder);
        const read: Document[] = await opened.range(0, opened.count);
        const backwards = await opened.read(all.map((_, index) => all.length - 1 - index));
        await opened.close();
        expect(read).toEqual(all);
        expect(backwards).toEqual(all.toReversed());
        expect(opened).toMatchObject(stored);
        expect(stored.count).toBe(all.length);
        const ids = all.map(({ id }) => `${JSON.stringify(id)}\n`).join("");
        expect(stored.idsSha256).toBe(createHash("sha256").update(ids).digest("hex"));
        const content = await readFile(join(folder, "documents.jsonl"));
        expect(stored.documentsSha256).toBe(createHash("sha256").update(content).digest("hex"));
      }),
      { numRuns: 10 },
    );
  });

  it("refuses an id that is used twice, naming both places", async () => {
    const first = [placed("a", 1), placed("b", 2)];
    await expect(store([first, [placed("b", 7, "more.jsonl")]])).rejects.toThrow(
      'more.jsonl:7: id "b" is already used in corpus.jsonl:2: ids must be unique',
    );
    await expect(store([first, [placed("c", 3)], [placed("a", 9)]])).rejects.toThrow(
      'corpus.jsonl:9: id "a" is already used in line 1: ids must be unique',
    );
    await expect(store([[placed("a", 1), placed("a", 2)]])).rejects.toThrow('corpus.jsonl:2: id "a" is already used in line 1');
  });

  it("leaves repeated ids out and tells each where told to", async () => {
    const skipped: SkippedPassage[] = [];
    const stored = await store(
      [
        [placed("a", 1), placed("b", 3), placed("a", 5)],
        [placed("b", 7), placed("c", 8)],
      ],
      (one) => {
        skipped.push(one);
      },
    );
    expect(stored.count).toBe(3);
    expect(skipped).toEqual([
      { place: { file: "corpus.jsonl", line: 5 }, reason: 'id "a" is already used in line 1: ids must be unique' },
      { place: { file: "corpus.jsonl", line: 7 }, reason: 'id "b" is already used in line 3: ids must be unique' },
    ]);
    const opened = await openDocumentStore(folder);
    expect((await opened.read([2, 0])).map(({ id }) => id)).toEqual(["c", "a"]);
    await expect(opened.read([3])).rejects.toThrow(/rows 3 to 4 are asked for, the store .* has 3/);
    await opened.close();
  });

  it("isn't open to readers until it is finished, and starts over", async () => {
    await store([[placed("old", 1)]]);
    const killed = await openDocumentWriter(folder);
    await killed.append([placed("a", 1)]);
    await killed.close();
    await expect(openDocumentStore(folder)).rejects.toThrow(/store\.json: is missing, so the document store isn't finished/);
    const unbroken = await store([[placed("a", 1)], [placed("b", 2)]]);
    const bytes = await readFile(join(folder, "documents.jsonl"));
    expect(await store([[placed("a", 1), placed("b", 2)]])).toEqual(unbroken);
    expect(await readFile(join(folder, "documents.jsonl"))).toEqual(bytes);
  });

  it("notices files that were cut or changed, naming them", async () => {
    await store([[placed("a", 1), placed("b", 2)]]);
    await appendFile(join(folder, "documents.jsonl"), "x");
    await expect(openDocumentStore(folder)).rejects.toThrow(/documents\.jsonl: has \d+ bytes, it was written with \d+: restore it/);
    await store([[placed("a", 1), placed("b", 2)]]);
    await truncate(join(folder, "offsets.bin"), 16);
    await expect(openDocumentStore(folder)).rejects.toThrow(/offsets\.bin: has 16 bytes, it was written with 24/);
    await rm(join(folder, "offsets.bin"));
    await expect(openDocumentStore(folder)).rejects.toThrow(/offsets\.bin: can't be read \(ENOENT\)/);
  });
});
