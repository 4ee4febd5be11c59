import { isUtf8 } from "node:buffer";
import { DataError } from "../../errors.ts";
import { fileBytes } from "./file-bytes.ts";

/** A line without its line end, or why it can't be used. `line` counts from 1. */
export type TextLine = { readonly line: number; readonly text: string } | { readonly line: number; readonly fault: string };

/** A "line" longer than this is a file of another kind; holding it would break the promise of constant memory. */
const longestLine = 16 * 1024 * 1024;
const tooLong = "is longer than 16 MiB: one record a line is expected; split it";
const notUtf8 = "not valid UTF-8: save the file as UTF-8";

const newline = 0x0a;
const carriageReturn = 0x0d;

/**
 * The lines of a UTF-8 text file (compressed or not) in batches, blank ones included; a byte order mark and CRLF line ends are
 * left out. Lines end at \n only, so that the other line separators of Unicode may stand in the text. A line that is not UTF-8 or
 * longer than 16 MiB is a fault of that line alone.
 * @throws DataError naming the file, and the first line that was not read, when it can't be read or decompressed or is UTF-16.
 */
export async function* textLines(file: string, onRead?: (bytes: number) => void): AsyncGenerator<readonly TextLine[]> {
  let pieces: Uint8Array[] = [];
  let pending = 0;
  let line = 0;
  let overlong = false;
  const take = (): TextLine[] => {
    const block = Buffer.concat(pieces);
    pieces = [];
    pending = 0;
    const lines = linesOf(line === 0 ? withoutMark(block, file) : block, line);
    line += lines.length;
    return lines;
  };
  for await (let chunk of placed(fileBytes(file, onRead), file, () => line)) {
    if (overlong) {
      const end = chunk.indexOf(newline) + 1;
      if (end === 0) continue;
      chunk = chunk.subarray(end);
      overlong = false;
      yield [{ line: ++line, fault: tooLong }];
    }
    const end = chunk.lastIndexOf(newline) + 1;
    if (end > 0) {
      pieces.push(chunk.subarray(0, end));
      yield take();
    }
    pieces.push(chunk.subarray(end));
    pending += chunk.length - end;
    if (pending > longestLine) {
      pieces = [];
      pending = 0;
      overlong = true;
    }
  }
  if (overlong) yield [{ line: line + 1, fault: tooLong }];
  else if (pending > 0) yield take();
}

/** Adds to an error in the middle of a file the line that would have come next. */
async function* placed(chunks: AsyncIterable<Uint8Array>, file: string, linesRead: () => number): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks;
  } catch (error) {
    if (!(error instanceof DataError) || linesRead() === 0) throw error;
    throw new DataError(error.message.replace(`${file}: `, ""), { file, line: linesRead() + 1 }, { cause: error });
  }
}

function withoutMark(block: Buffer, file: string): Buffer {
  if ((block[0] === 0xff && block[1] === 0xfe) || (block[0] === 0xfe && block[1] === 0xff)) {
    throw new DataError("is UTF-16: save it as UTF-8", { file });
  }
  return block[0] === 0xef && block[1] === 0xbb && block[2] === 0xbf ? block.subarray(3) : block;
}

/** Checking the whole block at once and splitting the string is several times faster than line by line. */
function linesOf(block: Buffer, before: number): TextLine[] {
  if (isUtf8(block)) {
    const texts = block.toString("utf8").split("\n");
    if (block.at(-1) === newline) texts.pop();
    return texts.map((text, index) => ({ line: before + index + 1, text: text.endsWith("\r") ? text.slice(0, -1) : text }));
  }
  const lines: TextLine[] = [];
  for (let start = 0; start < block.length; ) {
    const found = block.indexOf(newline, start);
    const end = found < 0 ? block.length : found;
    const bytes = block.subarray(start, end > start && block[end - 1] === carriageReturn ? end - 1 : end);
    const line = before + lines.length + 1;
    lines.push(isUtf8(bytes) ? { line, text: bytes.toString("utf8") } : { line, fault: notUtf8 });
    start = end + 1;
  }
  return lines;
}
