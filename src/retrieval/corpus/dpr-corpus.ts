import { DataError } from "../../errors.ts";
import { shown } from "../../json-values.ts";
import { type Entries, type Entry, idFields, textFields, toEntry } from "./entry.ts";
import { isBlank } from "./json-lines.ts";
import { textLines } from "./text-lines.ts";

/** The columns of a file without a header, as DPR's `psgs_w100.tsv` has them. */
const usualColumns = ["id", "text", "title"] as const;

const unclosed = "a field opens with a double quote that is not closed on its line";

/**
 * Tab-separated passages, one a line, as DPR ships them (`psgs_w100.tsv`): id, text, title, with or without a header; a header may
 * name them in another order. A field in double quotes has its inner quotes doubled.
 * @throws DataError as `textLines` does, and for a header without id or text.
 */
export async function* dprEntries(file: string, onRead: (bytes: number) => void): Entries {
  let columns: readonly string[] | undefined;
  for await (const lines of textLines(file, onRead)) {
    const entries: Entry[] = [];
    for (const textLine of lines) {
      if (isBlank(textLine)) continue;
      const place = { file, line: textLine.line };
      const fields = "fault" in textLine ? textLine : tabFields(textLine.text);
      if ("fault" in fields) {
        entries.push({ place, reason: fields.fault });
        continue;
      }
      if (columns === undefined) {
        columns = headerColumns(fields, file);
        if (columns !== undefined) continue;
        columns = usualColumns;
      }
      if (fields.length !== columns.length) {
        const reason = `expected ${columns.length} columns (${columns.join(", ")}) between tabs, got ${fields.length}: correct the line`;
        entries.push({ place, reason });
        continue;
      }
      entries.push(toEntry(Object.fromEntries(columns.map((column, index) => [column, fields[index]])), place));
    }
    yield entries;
  }
}

/** The columns that a first line names; undefined when it is a passage already. */
function headerColumns(fields: readonly string[], file: string): readonly string[] | undefined {
  const names = fields.map((field) => field.trim().toLowerCase());
  if (idFields.some((name) => names.includes(name)) && textFields.some((name) => names.includes(name))) return names;
  if (!idFields.some((name) => name === names[0])) return undefined;
  throw new DataError(`the header names no column text (found ${names.join(", ")}): rename it`, { file, line: 1 });
}

/**
 * The fields of a line. A field that opens and closes with a double quote is unquoted, its inner doubled quotes halved; quotes
 * elsewhere stand for themselves. A fault when an opening quote is never closed.
 */
export function tabFields(line: string): string[] | { readonly fault: string } {
  const fields: string[] = [];
  for (let start = 0; ; ) {
    const quoted = line[start] === '"' ? quotedField(line, start) : undefined;
    if (quoted === "unclosed") return { fault: `${unclosed} (${shown(line)}): double the quotes inside, or remove line breaks` };
    const tab = line.indexOf("\t", quoted?.end ?? start);
    const end = tab < 0 ? line.length : tab;
    // Text after a closing quote ("Heroes" (album)): the writer did not quote at all, so the quotes are part of the field.
    fields.push(quoted !== undefined && quoted.end === end ? quoted.text : line.slice(start, end));
    if (tab < 0) return fields;
    start = tab + 1;
  }
}

function quotedField(line: string, start: number): { readonly text: string; readonly end: number } | "unclosed" {
  let text = "";
  for (let from = start + 1; ; ) {
    const quote = line.indexOf('"', from);
    if (quote < 0) return "unclosed";
    text += line.slice(from, quote);
    if (line[quote + 1] !== '"') return { text, end: quote + 1 };
    text += '"';
    from = quote + 2;
  }
}
