import { type Entries, type Entry, toEntry } from "./entry.ts";
import { exactDigits } from "./exact-digits.ts";
import { isBlank, objectOf } from "./json-lines.ts";
import { type TextLine, textLines } from "./text-lines.ts";

/**
 * JSONL, one passage a line, blank lines skipped, further fields ignored: `{id, title, text}`, BEIR's `{_id, title, text}`, or
 * Search-R1's `{id, contents}`.
 * @throws DataError as `textLines` does.
 */
export async function* jsonlEntries(file: string, onRead: (bytes: number) => void): Entries {
  for await (const lines of textLines(file, onRead)) {
    yield lines.filter((line) => !isBlank(line)).map((line) => entryOf(line, file));
  }
}

function entryOf(textLine: TextLine, file: string): Entry {
  const place = { file, line: textLine.line };
  if ("fault" in textLine) return { place, reason: textLine.fault };
  const read = objectOf(textLine.text);
  if ("fault" in read) return { place, reason: read.fault };
  return toEntry(read.value, place, (field) => exactDigits(textLine.text, field));
}
