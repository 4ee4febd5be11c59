import { open } from "node:fs/promises";
import { DataError } from "../../errors.ts";

/**
 * The objects of a JSONL file with their line numbers (from 1), blank lines skipped, read as a stream.
 * @throws DataError when the file can't be read or a line is not a JSON object.
 */
export async function* jsonLines(file: string): AsyncGenerator<{ line: number; value: Record<string, unknown> }> {
  const handle = await open(file).catch((error: unknown) => {
    throw unreadable(file, error);
  });
  let line = 0;
  try {
    for await (const text of handle.readLines()) {
      line++;
      if (text.trim() === "") continue;
      yield { line, value: parseObject(text, { file, line }) };
    }
  } catch (error) {
    throw isSystemError(error) ? unreadable(file, error) : error;
  } finally {
    await handle.close();
  }
}

function unreadable(file: string, error: unknown): DataError {
  const reason = isSystemError(error) ? error.code : String(error);
  return new DataError(`can't be read (${reason}): check the path`, { file }, { cause: error });
}

function parseObject(text: string, place: { file: string; line: number }): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new DataError(`not valid JSON (${(error as Error).message}): one JSON object a line is expected`, place, { cause: error });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new DataError(`expected a JSON object, got ${shown(value)}`, place);
  }
  return value as Record<string, unknown>;
}

function isSystemError(error: unknown): error is Error & { code: string } {
  return error instanceof Error && typeof (error as { code?: unknown }).code === "string";
}

/** A value as an error message shows it: its JSON, shortened. */
export function shown(value: unknown): string {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
