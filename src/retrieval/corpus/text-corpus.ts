import { isUtf8 } from "node:buffer";
import { parse } from "node:path";
import { DataError } from "../../errors.ts";
import type { Place } from "./corpus-stream.ts";
import { cutPassages } from "./cut-passages.ts";
import type { Entries, Entry } from "./entry.ts";
import { fileBytes } from "./file-bytes.ts";
import { htmlBlocks, markdownBlocks, plainBlocks, type StructuredText } from "./text-blocks.ts";

/** A text is held whole while it is cut; HTML of this size takes about 40 times as much memory. */
const largestText = 16 * 1024 * 1024;

/**
 * The passages of one text file (.md, .txt, .html). `name` is its path below the folder of the corpus: passage ids are `<name>#<n>`,
 * n from 1. Titles are the document's, or `document > section` below a heading. A file that is empty, binary, not UTF-8,
 * unreadable, larger than 16 MiB or nested too deeply is one unusable entry.
 */
export async function* textEntries(file: string, name: string, passageWords: number, onRead: (bytes: number) => void): Entries {
  const place: Place = { file };
  const text = await wholeText(file, onRead);
  if (typeof text !== "string") {
    yield [{ place, reason: text.reason }];
    return;
  }
  const document = structured(name, text);
  if ("reason" in document) {
    yield [{ place, reason: document.reason }];
    return;
  }
  const { title = baseName(name), blocks } = document;
  const entries: Entry[] = cutPassages(blocks, passageWords).map((passage, index) => ({
    document: {
      id: `${name}#${index + 1}`,
      title: passage.section === undefined || passage.section === title ? title : `${title} > ${passage.section}`,
      text: passage.text,
    },
    place,
  }));
  yield entries.length > 0 ? entries : [{ place, reason: "holds no text: remove the file or fill it" }];
}

function structured(name: string, text: string): StructuredText | { readonly reason: string } {
  const plain = withoutArchiveSuffix(name).toLowerCase();
  const blocks = /\.(md|markdown)$/.test(plain) ? markdownBlocks : /\.html?$/.test(plain) ? htmlBlocks : plainBlocks;
  try {
    return blocks(text);
  } catch (error) {
    // The parsers recurse, so elements nested thousands deep end the stack.
    if (error instanceof RangeError) return { reason: `can't be parsed (${error.message.split("\n")[0]}): save it as .txt` };
    throw error;
  }
}

function baseName(name: string): string {
  return parse(withoutArchiveSuffix(name)).name;
}

function withoutArchiveSuffix(name: string): string {
  return name.replace(/\.(gz|zst)$/i, "");
}

async function wholeText(file: string, onRead: (bytes: number) => void): Promise<string | { readonly reason: string }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of fileBytes(file, onRead)) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > largestText) return { reason: "is larger than 16 MiB: split it, or make it JSONL of {id, title, text}" };
    }
  } catch (error) {
    if (error instanceof DataError) return { reason: error.message.replace(`${file}: `, "") };
    throw error;
  }
  const bytes = Buffer.concat(chunks);
  if (bytes.includes(0)) return { reason: "is binary or UTF-16 (it holds zero bytes): remove it, or save it as UTF-8" };
  if (!isUtf8(bytes)) return { reason: "is not valid UTF-8: save it as UTF-8" };
  return bytes
    .toString("utf8")
    .replace(/^\uFEFF/, "")
    .replace(/\r\n?/g, "\n");
}
