import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Entry } from "./entry.ts";
import { textEntries } from "./text-corpus.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "texts-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function entries(name: string, content: string | Uint8Array, words = 100): Promise<Entry[]> {
  const file = join(folder, name);
  await writeFile(file, content);
  const all: Entry[] = [];
  for await (const batch of textEntries(file, `notes/${name}`, words, () => undefined)) all.push(...batch);
  return all;
}
const documents = async (...values: Parameters<typeof entries>) =>
  (await entries(...values)).map((entry) => ("document" in entry ? entry.document : entry.reason));

describe("Markdown", () => {
  const page = `---
title: "Guide: *Quill*"
tags: [a]
---
Quill is a **town**\nwith a [harbour](http://x.y/z "t") & a ![picture](p.png) \`code\`.

## Getting there

* by boat
* by \`rail\`

| From | Hours |
| --- | --- |
| Ardent | 3 |

\`\`\`sh
quill --go
\`\`\`
`;

  it("takes the title from the front matter, and the text without its marks", async () => {
    expect(await documents("guide.md", page)).toEqual([
      {
        id: "notes/guide.md#1",
        title: "Guide: *Quill*",
        text: "Quill is a town with a harbour & a code.\nGetting there\n- by boat\n- by rail\nFrom Hours\nArdent 3\nquill --go",
      },
    ]);
  });

  it("numbers the passages, and adds the section that each begins in", async () => {
    const text = `# Quill\n\nIt is a town. It has a harbour.\n\n## History\n\nIt was founded in 1902. It grew.\n`;
    expect(await documents("history.md", text, 8)).toEqual([
      { id: "notes/history.md#1", title: "Quill", text: "Quill\nIt is a town. It has a harbour." },
      { id: "notes/history.md#2", title: "Quill > History", text: "History\nIt was founded in 1902. It grew." },
    ]);
  });

  it("takes what only looks like front matter for text, and the file's name for a missing title", async () => {
    expect(await documents("rules.md", "---\n\nBetween two rules.\n\n---\nAfter.")).toMatchObject([
      { title: "rules", text: expect.stringMatching(/Between two rules\.\nAfter\./) },
    ]);
    expect(await documents("list.md", "---\n- one\n- two\n---\nAfter.")).toMatchObject([{ title: "list", text: "- one\n- two\nAfter." }]);
    expect(await documents("empty-matter.md", "---\n---\nAfter.")).toMatchObject([{ title: "empty-matter", text: "After." }]);
  });
});

describe("HTML", () => {
  it("takes the title of the page, and leaves out what is no text", async () => {
    const page = `<!doctype html><html><head><title> Quill &amp;\n Ardent </title><style>p { color: red }</style></head><body>
      <nav>Home</nav><script>alert("x")</script><h1>The towns</h1><p>Quill&nbsp;lies   by the <a href="/sea">sea</a>.<br>Ardent
      by a lake.</p><ul><li>one</li><li>two</li></ul><table><tr><th>a</th><td>b</td></tr></table><p hidden>secret</p></body></html>`;
    expect(await documents("towns.html", page)).toEqual([
      {
        id: "notes/towns.html#1",
        title: "Quill & Ardent > The towns",
        text: "The towns\nQuill lies by the sea.\nArdent by a lake.\n- one\n- two\na b",
      },
    ]);
  });

  it("takes the first heading, or else the file's name, for a missing title", async () => {
    expect(await documents("heading.htm", "<h2>Ardent</h2><p>A lake.")).toMatchObject([{ title: "Ardent", text: "Ardent\nA lake." }]);
    expect(await documents("bare.html", "A lake.")).toMatchObject([{ title: "bare", text: "A lake." }]);
  });
});

describe("plain text", () => {
  it("is cut at blank lines and sentence borders, its title the file's name; archives too", async () => {
    const text = "\uFEFFQuill is\r\na town.\r\n \r\nIt has a harbour.";
    const expected = { title: "towns", text: "Quill is a town.\nIt has a harbour." };
    expect(await documents("towns.txt", text)).toEqual([{ id: "notes/towns.txt#1", ...expected }]);
    expect(await documents("towns.txt.gz", gzipSync(text))).toEqual([{ id: "notes/towns.txt.gz#1", ...expected }]);
  });
});

describe("a file that can't be used", () => {
  it.each([
    ["empty.md", "", "holds no text: remove the file or fill it"],
    ["empty.html", "<script>1</script>", "holds no text: remove the file or fill it"],
    ["large.txt", "word ".repeat(3.4 * 2 ** 20), "is larger than 16 MiB: split it, or make it JSONL of {id, title, text}"],
    ["binary.txt", "a\0b", "is binary or UTF-16 (it holds zero bytes): remove it, or save it as UTF-8"],
    ["latin.txt", Buffer.from("D\xfcne", "latin1"), "is not valid UTF-8: save it as UTF-8"],
    ["cut.txt.gz", gzipSync("text").subarray(0, 15), "the gzip archive is truncated or corrupt (unexpected end of file): fetch it again"],
    ["deep.md", ">".repeat(8_000), "can't be parsed (Maximum call stack size exceeded): save it as .txt"],
    ["deep.html", "<b>".repeat(12_000), "can't be parsed (Maximum call stack size exceeded): save it as .txt"],
  ])("is one entry: %s", async (name, content, reason) => {
    expect(await entries(name, content)).toEqual([{ place: { file: join(folder, name) }, reason }]);
  });
});
