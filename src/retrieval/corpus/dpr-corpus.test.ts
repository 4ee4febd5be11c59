import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { dprEntries, tabFields } from "./dpr-corpus.ts";
import type { Entry } from "./entry.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "dpr-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function entries(content: string): Promise<Entry[]> {
  const file = join(folder, "psgs_w100.tsv");
  await writeFile(file, content);
  const all: Entry[] = [];
  for await (const batch of dprEntries(file, () => undefined)) all.push(...batch);
  return all;
}
const shown = (all: readonly Entry[]) => all.map((entry) => ("document" in entry ? entry.document : [entry.place.line, entry.reason]));

describe("dprEntries", () => {
  it("reads psgs_w100.tsv: a header, quotes doubled inside quoted fields", async () => {
    const content = 'id\ttext\ttitle\n1\t"Aaron ( or ; ""Ahärôn"") is a prophet."\tAaron\r\n2\tIt\'s 5" long.\t"""Heroes"" (album)"\n\n';
    expect(shown(await entries(content))).toEqual([
      { id: "1", title: "Aaron", text: 'Aaron ( or ; "Ahärôn") is a prophet.' },
      { id: "2", title: '"Heroes" (album)', text: "It's 5\" long." },
    ]);
  });

  it("reads it without a header, and with other columns in another order", async () => {
    expect(shown(await entries("7\tText.\tTitle"))).toEqual([{ id: "7", title: "Title", text: "Text." }]);
    expect(shown(await entries("title\turl\t_id\ttext\nTitle\thttp\t7\tText."))).toEqual([{ id: "7", title: "Title", text: "Text." }]);
    await expect(entries("id\tbody\n1\tx")).rejects.toThrow("psgs_w100.tsv:1: the header names no column text (found id, body)");
  });

  it("gives line and reason of a bad line, and reads the rest", async () => {
    const all = await entries('id\ttext\ttitle\n1\tone\n2\t"never closed\tx\n3\t \tthree\n\tfour\tx\n5\tfive\t');
    expect(shown(all)).toEqual([
      [2, "expected 3 columns (id, text, title) between tabs, got 2: correct the line"],
      [3, expect.stringContaining("a field opens with a double quote that is not closed on its line")],
      [4, 'text must be a non-empty string, got " " (id "3"): remove the passage or fill it'],
      [5, 'id must be a non-empty string or a whole number, got "": give every passage an id'],
      { id: "5", title: "", text: "five" },
    ]);
  });
});

describe("tabFields", () => {
  it("reads back what a CSV writer makes of any fields without line breaks", () => {
    const field = fc.string({ unit: fc.constantFrom('"', "\t", "a", " ", "ü") });
    const written = (text: string) => (/["\t]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    fc.assert(
      fc.property(fc.array(field, { minLength: 1 }), (fields) => {
        expect(tabFields(fields.map(written).join("\t"))).toEqual(fields);
      }),
    );
  });

  it("keeps the quotes of a field that is not quoted as a whole", () => {
    expect(tabFields('"Heroes" (album)\t5" long\t"quoted"')).toEqual(['"Heroes" (album)', '5" long', "quoted"]);
  });
});
