import { mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Rng } from "../../rng.ts";
import { Bm25Index, type Bm25Options } from "./bm25-index.ts";
import { type Bm25BuildOptions, buildStoredBm25, openStoredBm25 } from "./stored-bm25.ts";
import type { Hit } from "./vector-index.ts";

let root: string;
let folder: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "stored-bm25-"));
  folder = join(root, "bm25");
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function* stream(texts: readonly string[]): AsyncGenerator<string> {
  yield* texts;
}

const build = (texts: readonly string[], options?: Bm25BuildOptions) => buildStoredBm25(folder, stream(texts), options);

async function search(queries: readonly string[], topK: number, constants: Bm25Options = {}): Promise<Hit[][]> {
  const index = await openStoredBm25(folder, constants);
  try {
    return await index.search(queries, topK);
  } finally {
    await index.close();
  }
}

/** What an index in memory finds, equal scores in row order. */
function inMemory(texts: readonly string[], queries: readonly string[], topK: number, constants: Bm25Options = {}): Hit[][] {
  const documents = texts.map((text, row) => ({ id: String(row), title: "", text }));
  const index = new Bm25Index(documents, constants);
  return queries.map((query) =>
    index
      .search(query, texts.length)
      .map(({ document, score }) => ({ row: Number(document.id), score }))
      .filter(({ score }) => score > 0)
      .sort((left, right) => right.score - left.score || left.row - right.row)
      .slice(0, topK),
  );
}

/** Texts whose words are as unequally common as those of a language. */
function syntheticTexts(count: number, vocabulary: number, seed: number): string[] {
  const rng = Rng.stream(seed, "texts");
  const word = () => `w${Math.floor(vocabulary ** rng.uniform()) - 1}`;
  return Array.from({ length: count }, () => Array.from({ length: 3 + rng.integer(40) }, word).join(" "));
}

describe("stored BM25", () => {
  it("finds the same rows with the same scores, to the bit, as the index in memory", async () => {
    const word = fc.constantFrom("ant", "bee", "cat", "dog", "eel", "fox", "été", "日本", "42");
    const text = fc.array(word, { maxLength: 12 }).map((words) => words.join(" "));
    await fc.assert(
      fc.asyncProperty(
        fc.array(text, { minLength: 1, maxLength: 40 }),
        fc.array(text, { minLength: 1, maxLength: 4 }),
        fc.record({ topK: fc.integer({ min: 1, max: 12 }), segmentPostings: fc.integer({ min: 1, max: 60 }) }),
        fc.record({ k1: fc.double({ min: 0, max: 3, noNaN: true }), b: fc.double({ min: 0, max: 1, noNaN: true }) }),
        async (texts, queries, { topK, segmentPostings }, constants) => {
          await build(texts, { segmentPostings });
          expect(await search(queries, topK, constants)).toEqual(inMemory(texts, queries, topK, constants));
        },
      ),
      { numRuns: 15 },
    );
  });

  it("leaves no row out when it skips: many windows and blocks", async () => {
    const texts = syntheticTexts(20_000, 20_000, 1);
    await build(texts, { segmentPostings: 100_000 });
    const rng = Rng.stream(1, "queries");
    const queries = Array.from({ length: 12 }, () => {
      const words = Array.from({ length: 1 + rng.integer(12) }, () => `w${Math.floor(20_000 ** rng.uniform()) - 1}`);
      return words.join(" ");
    });
    const memory = new Bm25Index(texts.map((text, row) => ({ id: String(row), title: "", text })));
    const scores = (hits: readonly { readonly score: number }[]) => hits.map(({ score }) => score).filter((score) => score > 0);
    for (const topK of [1, 10, 300]) {
      const found = await search(queries, topK);
      expect(found.map(scores)).toEqual(queries.map((query) => scores(memory.search(query, topK))));
      for (const hits of found) expect(new Set(hits.map(({ row }) => row)).size).toBe(hits.length);
    }
  });

  it("gives the same bytes however little memory it has", async () => {
    const texts = syntheticTexts(500, 2000, 2);
    const bytes = async () => {
      const names = (await readdir(folder)).sort();
      return Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), "base64")]));
    };
    await build(texts);
    const whole = await bytes();
    await build(texts, { segmentPostings: 100 });
    expect(await bytes()).toEqual(whole);
    expect(whole.map(([name]) => name)).toEqual(["bm25.json", "lengths.bin", "postings.bin", "words-sparse.bin", "words.bin"]);
  });

  it("finds nothing for words that no text has, and nothing in nothing", async () => {
    await build(["one apple", "", "two pears"]);
    expect(await search(["", "plum", "apple plum"], 5)).toEqual([[], [], [expect.objectContaining({ row: 0 })]]);
    await build([]);
    expect(await search(["apple"], 5)).toEqual([[]]);
    await build(["", ""]);
    expect(await search(["apple"], 5)).toEqual([[]]);
  });

  it("tells how far it is, stops when told to, and leaves nothing behind", async () => {
    const stages: string[] = [];
    await build(syntheticTexts(3000, 9000, 3), { onProgress: ({ stage, done }) => stages.push(`${stage} ${done}`) });
    expect(stages).toEqual(["reading 0", "reading 1024", "reading 2048", "merging 4096"]);
    const stop = new AbortController();
    const stopped = build(syntheticTexts(3000, 9000, 3), { signal: stop.signal, onProgress: () => stop.abort() });
    await expect(stopped).rejects.toThrow("aborted");
    expect(await readdir(root)).toEqual(["bm25"]);
    await mkdir(`${folder}.partial/segments`, { recursive: true });
    await writeFile(`${folder}.partial/segments/0`, "left by a killed build");
    await build(["apple"]);
    expect(await readdir(root)).toEqual(["bm25"]);
    expect(await search(["apple"], 1)).toHaveLength(1);
  });

  it.each([
    [{ k1: -0.1 }, "expected k1 to be 0 or more, got -0.1"],
    [{ b: 1.5 }, "expected b to be from 0 to 1, got 1.5"],
    [{ k1: Number.NaN }, "got NaN"],
  ])("refuses the constants %o", async (constants, message) => {
    await build(["apple"]);
    await expect(openStoredBm25(folder, constants)).rejects.toThrow(message);
  });

  it("names the file that is missing or damaged", async () => {
    await expect(openStoredBm25(folder)).rejects.toThrow(/bm25\.json: is missing, so the BM25 index isn't complete/);
    await build(["apple pear", "apple"]);
    await truncate(join(folder, "postings.bin"), 3);
    await expect(openStoredBm25(folder)).rejects.toThrow(/postings\.bin: has 3 bytes, it was written with \d+/);
    await build(["apple pear", "apple"]);
    const length = (await readFile(join(folder, "postings.bin"))).length;
    await writeFile(join(folder, "postings.bin"), Buffer.alloc(length, 1));
    await expect(search(["apple"], 1)).rejects.toThrow(/postings\.bin: is damaged at byte 0/);
    await writeFile(join(folder, "words-sparse.bin"), Buffer.alloc((await readFile(join(folder, "words-sparse.bin"))).length, 255));
    await expect(openStoredBm25(folder)).rejects.toThrow(/words-sparse\.bin: is damaged at byte \d+/);
    await rm(join(folder, "lengths.bin"));
    await expect(openStoredBm25(folder)).rejects.toThrow(/lengths\.bin: can't be read \(ENOENT\)/);
    await writeFile(join(folder, "bm25.json"), "{}");
    await expect(openStoredBm25(folder)).rejects.toThrow(/bm25\.json: is damaged or of another version/);
  });
});
