import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TextLine, textLines } from "./text-lines.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "lines-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function linesOf(content: string | Uint8Array, name = "text.jsonl"): Promise<TextLine[]> {
  const file = join(folder, name);
  await writeFile(file, content);
  const lines: TextLine[] = [];
  for await (const batch of textLines(file)) lines.push(...batch);
  return lines;
}
const texts = (lines: readonly TextLine[]) => lines.map((line) => ("text" in line ? line.text : line.fault));

describe("textLines", () => {
  it("leaves out the byte order mark and both line ends, and keeps other separators of Unicode", async () => {
    expect(await linesOf("\uFEFFone\r\ntwo\n\n\u2028three\u0085\rfour")).toEqual([
      { line: 1, text: "one" },
      { line: 2, text: "two" },
      { line: 3, text: "" },
      { line: 4, text: "\u2028three\u0085\rfour" },
    ]);
    expect(await linesOf("")).toEqual([]);
    expect(texts(await linesOf("\n"))).toEqual([""]);
  });

  it("reads any lines, also where a chunk ends within a character or between \\r and \\n", async () => {
    const filler = fc.constantFrom("", "a".repeat(256 * 1024 - 3));
    const line = fc.string({ unit: "grapheme" }).map((text) => text.replace(/[\r\n\uFEFF]/g, ""));
    await fc.assert(
      fc.asyncProperty(filler, fc.array(line), fc.constantFrom("\n", "\r\n"), async (first, rest, end) => {
        const expected = [first, ...rest];
        expect(texts(await linesOf(expected.map((text) => text + end).join("")))).toEqual(expected);
      }),
      { numRuns: 50 },
    );
  });

  it("finds the line that is not UTF-8, and reads those around it", async () => {
    const lines = await linesOf(Buffer.concat([Buffer.from("ü\r\n"), Buffer.from("D\xfcne\n", "latin1"), Buffer.from("é")]));
    expect(texts(lines)).toEqual(["ü", "not valid UTF-8: save the file as UTF-8", "é"]);
  });

  it("passes over a line of more than 16 MiB, and holds no such line", async () => {
    const long = "x".repeat(40 * 1024 * 1024);
    const fault = "is longer than 16 MiB: one record a line is expected; split it";
    expect(texts(await linesOf(`one\n${long}\nthree\n`))).toEqual(["one", fault, "three"]);
    expect(await linesOf(`one\n${long}`)).toEqual([
      { line: 1, text: "one" },
      { line: 2, fault },
    ]);
  });

  it("names the line before which an archive is damaged", async () => {
    const archive = gzipSync(Array.from({ length: 100_000 }, (_, index) => `${Math.imul(index, 2654435761)}\n`).join(""));
    const failure = linesOf(archive.subarray(0, archive.length - 10), "cut.gz");
    await expect(failure).rejects.toThrow(/cut\.gz:\d{5,6}: the gzip archive is truncated or corrupt \(unexpected end of file\)/);
  });

  it("refuses UTF-16", async () => {
    await expect(linesOf(Buffer.from("\uFEFFone\n", "utf16le"))).rejects.toThrow("text.jsonl: is UTF-16: save it as UTF-8");
  });
});
