import { DataError } from "../../errors.ts";
import { textLines } from "./text-lines.ts";

/**
 * The objects of a JSONL file with their line numbers (from 1), blank lines skipped, read as a stream; gzip and Zstandard archives too.
 * @throws DataError when the file can't be read or a line is not a JSON object.
 */
export async function* jsonLines(file: string): AsyncGenerator<{ line: number; value: Record<string, unknown> }> {
  for await (const lines of textLines(file)) {
    for (const { line, text } of lines) {
      if (text?.trim() === "") continue;
      const read = parseObject(text);
      if ("reason" in read) throw new DataError(read.reason, { file, line });
      yield { line, value: read.value };
    }
  }
}

/** The object that a line (undefined: not UTF-8) holds, or why there is none. */
export function parseObject(text: string | undefined): { readonly value: Record<string, unknown> } | { readonly reason: string } {
  if (text === undefined) return { reason: "not valid UTF-8: save the file as UTF-8" };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { reason: `not valid JSON (${(error as Error).message}): one JSON object a line is expected` };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return { reason: `expected a JSON object, got ${shown(value)}` };
  return { value: value as Record<string, unknown> };
}

/** A value as an error message shows it: its JSON, shortened. */
export function shown(value: unknown): string {
  const text =
    value === undefined ? "nothing" : JSON.stringify(value, (_, inner: unknown) => (typeof inner === "bigint" ? String(inner) : inner));
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
