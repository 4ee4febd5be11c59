import { DataError } from "../../errors.ts";
import { isRecord, shown } from "../../json-values.ts";
import { type TextLine, textLines } from "./text-lines.ts";

/**
 * The objects of a JSONL file with their line numbers (from 1), blank lines skipped, read as a stream; gzip and Zstandard archives too.
 * @throws DataError when the file can't be read or a line is not a JSON object.
 */
export async function* jsonLines(file: string): AsyncGenerator<{ line: number; value: Readonly<Record<string, unknown>> }> {
  for await (const lines of textLines(file)) {
    for (const textLine of lines) {
      if (isBlank(textLine)) continue;
      const { line } = textLine;
      const read = "fault" in textLine ? textLine : objectOf(textLine.text);
      if ("fault" in read) throw new DataError(read.fault, { file, line });
      yield { line, value: read.value };
    }
  }
}

/** Whether the line holds nothing but white space. */
export function isBlank(line: TextLine): boolean {
  return "text" in line && line.text.trim() === "";
}

/** The object that a line of JSON holds, or why there is none. */
export function objectOf(text: string): { readonly value: Readonly<Record<string, unknown>> } | { readonly fault: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { fault: `not valid JSON (${(error as Error).message}): one JSON object a line is expected` };
  }
  return isRecord(value) ? { value } : { fault: `expected a JSON object, got ${shown(value, 60)}` };
}
