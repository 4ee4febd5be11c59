import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DataError } from "../../errors.ts";
import { loadCorpus } from "./corpus.ts";
import type { SkippedPassage } from "./corpus-stream.ts";

const fixtures = fileURLToPath(new URL("../../../test/fixtures/retrieval/", import.meta.url));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "corpus-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function written(name: string, content: string | Uint8Array): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, content);
  return file;
}
const corpusOf = (...lines: readonly string[]) => written("corpus.jsonl", lines.join("\n"));
const good = '{"id":"1","title":"Peru","text":"Lima."}';

describe("loadCorpus", () => {
  it("reads passages, skipping blank lines and further fields", async () => {
    const file = await corpusOf(good, "", '{"id":"2","text":"No title.","page":7}\r');
    expect(await loadCorpus(file)).toEqual([
      { id: "1", title: "Peru", text: "Lima." },
      { id: "2", title: "", text: "No title." },
    ]);
  });

  it.each([
    ["{", "not valid JSON"],
    ["[1]", "expected a JSON object, got [1]"],
    ['{"text":"x"}', "id must be a non-empty string or a whole number, got nothing"],
    ['{"id":7.5,"text":"x"}', "id must be a non-empty string or a whole number, got 7.5"],
    ['{"id":"2","text":" "}', 'text must be a non-empty string, got " " (id "2")'],
    ['{"id":"2","title":["x"],"text":"x"}', 'title must be a string, got ["x"] (id "2")'],
    ['{"id":"\\u001b[2J","text":""}', 'text must be a non-empty string, got "" (id "\\u001b[2J")'],
    ['{"id":"1","text":"x"}', 'id "1" is already used in line 1'],
    ['{"id":1,"text":"x"}', 'id "1" is already used in line 1'],
  ])("names the line of %s", async (line, message) => {
    const file = await corpusOf(good, "", line);
    const failure = loadCorpus(file);
    await expect(failure).rejects.toThrow(`${file}:3: ${message}`);
    await expect(failure).rejects.toBeInstanceOf(DataError);
  });

  it("names a file that is empty or missing", async () => {
    await expect(loadCorpus(await corpusOf(""))).rejects.toThrow("corpus.jsonl: holds no passage");
    await expect(loadCorpus(join(folder, "none.jsonl"))).rejects.toThrow("none.jsonl: can't be read (ENOENT)");
  });

  it("reads every format, in the order of the paths", async () => {
    const tsv = await written("p.tsv", "id\ttext\ttitle\nt1\tLima.\tPeru\n");
    const text = await written("p.md", "# Peru\n\nLima.");
    const paths = [tsv, join(fixtures, "snappy.parquet"), join(fixtures, "two-frames.jsonl.zst"), text];
    expect((await loadCorpus(paths)).map(({ id }) => id)).toEqual([
      "t1",
      ...Array.from({ length: 7 }, (_, row) => String(2n ** 53n + 1n + BigInt(row))),
      "1",
      "2",
      "p.md#1",
    ]);
  });

  it("names both places of an id that is used twice", async () => {
    const first = await written("first.jsonl", `{"id":"0","text":"x"}\n${good}`);
    const second = await written("second.jsonl", `\n${good}\n`);
    await expect(loadCorpus([first, second])).rejects.toThrow(`${second}:2: id "1" is already used in ${first}:2: ids must be unique`);
  });

  it("lists what it skips, duplicates too, and reads the rest", async () => {
    const first = await written("first.jsonl", `${good}\n{\n${good}`);
    const second = await written("second.jsonl.gz", gzipSync(`${good}\r\n{"id":"2","text":"x"}`));
    const skipped: SkippedPassage[] = [];
    const documents = await loadCorpus([first, second], { onSkip: (passage) => skipped.push(passage) });
    expect(documents.map(({ id }) => id)).toEqual(["1", "2"]);
    expect(skipped.map(({ place, reason }) => [place.file, place.line, reason.split(":")[0]])).toEqual([
      [first, 2, expect.stringContaining("not valid JSON")],
      [first, 3, 'id "1" is already used in line 1'],
      [second, 1, `id "1" is already used in ${first}`],
    ]);
  });

  it("refuses a corpus of which nothing is left", async () => {
    const file = await corpusOf("{", "[]");
    await expect(loadCorpus(file, { onSkip: () => undefined })).rejects.toThrow(`${file}: holds no passage: all 2 were unusable`);
  });
});

const real = fileURLToPath(new URL("../../../../shared/data/qa/corpus", import.meta.url));

describe.skipIf(!existsSync(real))("the development corpus (skipped: ../shared/data/qa is not there)", () => {
  it("is read from its folder, all of it, without a duplicate", async () => {
    const documents = await loadCorpus(real);
    expect(documents.length).toBe(27_240);
    expect(documents.filter(({ title }) => title !== "").length).toBeGreaterThan(27_000);
  });
});
