import { isUtf8 } from "node:buffer";
import { DataError } from "../../errors.ts";
import { fileBytes } from "./file-bytes.ts";

/** A line without its line end; `text` is absent where the bytes are not valid UTF-8. `line` counts from 1. */
export interface TextLine {
  readonly line: number;
  readonly text?: string;
}

/** A "line" longer than this is a file of another kind; holding it would break the promise of constant memory. */
const longestLine = 64 * 1024 * 1024;

/**
 * The lines of a UTF-8 text file (compressed or not) in batches, blank ones included; a byte order mark and CRLF line ends are
 * left out. Lines end at \n only, so that the other line separators of Unicode may stand in the text.
 * @throws DataError naming the file when it can't be read or decompressed, is UTF-16, or has a line of more than 64 MiB.
 */
export async function* textLines(file: string, onRead?: (bytes: number) => void): AsyncGenerator<readonly TextLine[]> {
  let pieces: Uint8Array[] = [];
  let pending = 0;
  let line = 0;
  const take = (): TextLine[] => {
    const block = Buffer.concat(pieces);
    const lines = linesOf(line === 0 ? withoutMark(block, file) : block, line);
    line += lines.length;
    return lines;
  };
  for await (const chunk of fileBytes(file, onRead)) {
    const end = chunk.lastIndexOf(0x0a) + 1;
    if (end > 0) {
      pieces.push(chunk.subarray(0, end));
      yield take();
      pieces = [];
      pending = 0;
    }
    pieces.push(chunk.subarray(end));
    pending += chunk.length - end;
    if (pending > longestLine) {
      throw new DataError("is longer than 64 MiB: is this a file of one record a line?", { file, line: line + 1 });
    }
  }
  if (pending > 0) yield take();
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
    if (block.at(-1) === 0x0a) texts.pop();
    return texts.map((text, index) => ({ line: before + index + 1, text: text.endsWith("\r") ? text.slice(0, -1) : text }));
  }
  const lines: TextLine[] = [];
  for (let start = 0; start < block.length; ) {
    const newline = block.indexOf(0x0a, start);
    const end = newline < 0 ? block.length : newline;
    const bytes = block.subarray(start, end > start && block[end - 1] === 0x0d ? end - 1 : end);
    const line = before + lines.length + 1;
    lines.push(isUtf8(bytes) ? { line, text: bytes.toString("utf8") } : { line });
    start = end + 1;
  }
  return lines;
}
