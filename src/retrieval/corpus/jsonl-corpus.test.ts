import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Entry } from "./entry.ts";
import { exactDigits } from "./exact-digits.ts";
import { jsonlEntries } from "./jsonl-corpus.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "jsonl-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function entries(...lines: readonly (string | object)[]): Promise<Entry[]> {
  const file = join(folder, "corpus.jsonl");
  await writeFile(file, lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n"));
  const all: Entry[] = [];
  for await (const batch of jsonlEntries(file, () => undefined)) all.push(...batch);
  return all;
}
const documents = async (...lines: readonly (string | object)[]) =>
  (await entries(...lines)).map((entry) => ("document" in entry ? entry.document : entry.reason));

describe("Search-R1's contents", () => {
  it.each([
    ['"Aaron"\nAaron is a prophet.', "Aaron", "Aaron is a prophet."],
    ['"Aaron"\nTwo\nlines.', "Aaron", "Two\nlines."],
    ['"Aaron"\r\nText.', "Aaron", "Text."],
    ["Aaron\nNot quoted.", "Aaron", "Not quoted."],
    ['""Heroes" (album)"\nQuoted once more.', '"Heroes" (album)', "Quoted once more."],
    ['"""Heroes"" (album)"\nQuoted as CSV has it.', '"Heroes" (album)', "Quoted as CSV has it."],
    ['"Heroes" (album)\nNot quoted as a whole.', '"Heroes" (album)', "Not quoted as a whole."],
    ['"\nOne quote is a title.', '"', "One quote is a title."],
    ['""\nAn empty title.', "", "An empty title."],
    ["One line alone is a text.", "", "One line alone is a text."],
  ])("takes %j apart", async (contents, title, text) => {
    expect(await documents({ id: "1", contents })).toEqual([{ id: "1", title, text }]);
  });

  it("gives way to a title and a text of the record", async () => {
    expect(
      await documents(
        { id: "1", title: "Aaron", contents: "Aaron is\na prophet." },
        { id: "2", title: "Aaron", contents: '"Aaron"\nA prophet.' },
        { id: "3", title: "Aaron", text: "A prophet.", contents: '"Aaron"\nA prophet.' },
      ),
    ).toEqual([
      { id: "1", title: "Aaron", text: "Aaron is\na prophet." },
      { id: "2", title: "Aaron", text: "A prophet." },
      { id: "3", title: "Aaron", text: "A prophet." },
    ]);
  });
});

describe("ids", () => {
  it("are found under BEIR's and other names, and are strings", async () => {
    const ids = (await documents({ _id: "a", text: "x" }, { docid: 7, text: "x" }, { id: null, _id: 0, text: "x" })).map(
      (document) => (document as { id: string }).id,
    );
    expect(ids).toEqual(["a", "7", "0"]);
  });

  it("are exact beyond 2^53, whatever else the line holds", async () => {
    await fc.assert(
      fc.asyncProperty(fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }), fc.json(), fc.string(), async (id, other, key) => {
        const line = `{"text":"x", ${JSON.stringify(`${key}-`)} : ${other}, "id" :${id} ,"note":{"id":1}}`;
        expect(await documents(line)).toEqual([{ id: String(id), title: "", text: "x" }]);
      }),
    );
  });

  it("are refused where the number is not whole, or is not written in digits", async () => {
    const written = ["1.5", "1e300", "9007199254740993.0"].map((id) => `{"id":${id},"text":"x"}`);
    for (const reason of await documents(...written)) expect(reason).toContain("id must be a non-empty string or a whole number, got ");
    expect(exactDigits('{"id":12345678901234567890,"id":1e300}', "id")).toBeUndefined();
    expect(exactDigits('{"a":[12],"id":12345678901234567890}', "id")).toBe("12345678901234567890");
  });

  it("in a long line need no stack", async () => {
    const [document] = await entries(`{"text":${JSON.stringify('a"\\'.repeat(1_000_000))},"id":9007199254740993}`);
    expect(document).toMatchObject({ document: { id: "9007199254740993" } });
  });
});

describe("bad lines", () => {
  it("are entries with their line and reason; the rest is read", async () => {
    const file = join(folder, "corpus.jsonl");
    const all = await entries(
      { id: 1, text: "one" },
      "{",
      "",
      '{"id":2}',
      '{"id":true,"text":"x"}',
      { id: " ", text: "x" },
      { id: 3, text: "three" },
    );
    expect(all.map((entry) => [entry.place.line, "document" in entry ? entry.document.id : entry.reason])).toEqual([
      [1, "1"],
      [2, expect.stringMatching(/^not valid JSON \(.*\): one JSON object a line is expected$/)],
      [4, 'text must be a non-empty string, got nothing (id "2"): remove the passage or fill it'],
      [5, "id must be a non-empty string or a whole number, got true: give every passage an id"],
      [6, 'id must be a non-empty string or a whole number, got " ": give every passage an id'],
      [7, "3"],
    ]);
    expect(new Set(all.map((entry) => entry.place.file))).toEqual(new Set([file]));
  });
});
