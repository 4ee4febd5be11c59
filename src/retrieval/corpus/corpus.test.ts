import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DataError } from "../../errors.ts";
import { loadCorpus } from "./corpus.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "corpus-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function corpusOf(...lines: readonly string[]): Promise<string> {
  const file = join(folder, "corpus.jsonl");
  await writeFile(file, lines.join("\n"));
  return file;
}
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
    ['{"id":"2","text":" "}', 'text must be a non-empty string, got " " (id 2)'],
    ['{"id":"2","title":["x"],"text":"x"}', 'title must be a string, got ["x"] (id 2)'],
    ['{"id":"1","text":"x"}', 'id "1" is already used in line 1'],
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
});
