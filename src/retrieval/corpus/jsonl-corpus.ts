import type { Place } from "./corpus-stream.ts";
import { type Entries, type Entry, toEntry } from "./entry.ts";
import { exactDigits } from "./exact-digits.ts";
import { parseObject } from "./json-lines.ts";
import { textLines } from "./text-lines.ts";

/**
 * JSONL, one passage a line, blank lines skipped, further fields ignored: `{id, title, text}`, BEIR's `{_id, title, text}`, or
 * Search-R1's `{id, contents}`.
 * @throws DataError as `textLines` does.
 */
export async function* jsonlEntries(file: string, onRead: (bytes: number) => void): Entries {
  for await (const lines of textLines(file, onRead)) {
    const entries: Entry[] = [];
    for (const { line, text } of lines) {
      if (text?.trim() !== "") entries.push(entryOf(text, { file, line }));
    }
    yield entries;
  }
}

function entryOf(text: string | undefined, place: Place): Entry {
  const read = parseObject(text);
  if ("reason" in read) return { place, reason: read.reason };
  return toEntry(read.value, place, (field) => exactDigits(text as string, field));
}
