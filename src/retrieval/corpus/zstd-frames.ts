import { DataError } from "../../errors.ts";

/**
 * Larger windows than this are refused: a decoder must hold the window in memory, and fzstd 0.1.1 silently decodes matches more than
 * 96 MiB back to the wrong bytes (https://github.com/101arrowz/fzstd/pull/22).
 */
const largestWindow = 64 * 1024 * 1024;

const frameMagic = 0xfd2fb528;
const isSkippable = (magic: number): boolean => magic >>> 4 === 0x184d2a5;

/** Whether a file with these first bytes (at least 4, zeros where it is shorter) is a Zstandard archive. */
export function startsZstd(bytes: Buffer): boolean {
  const magic = bytes.readUInt32LE(0);
  return magic === frameMagic || isSkippable(magic);
}

/** How many of the next bytes the walk wants to see, or not to see. */
type Step = { readonly take: number } | { readonly skip: number };

/**
 * Walks along the frames of a Zstandard stream (RFC 8878, section 3.1) without decoding them.
 * @throws DataError (from `next`) for what is no frame, and for a frame that fzstd would decode to wrong bytes: one with a larger
 * window, or with a dictionary.
 */
function* walkFrames(file: string): Generator<Step, never, Buffer> {
  for (;;) {
    const magic = (yield { take: 4 }).readUInt32LE(0);
    if (isSkippable(magic)) {
      yield { skip: (yield { take: 4 }).readUInt32LE(0) };
      continue;
    }
    if (magic !== frameMagic)
      throw new DataError("the Zstandard archive is corrupt (no frame where one should begin): fetch it again", { file });
    const descriptor = (yield { take: 1 }).readUInt8(0);
    const singleSegment = (descriptor & 0x20) !== 0;
    const windowLength = singleSegment ? 0 : 1;
    const dictionaryLength = [0, 1, 2, 4][descriptor & 3] as number;
    const sizeLength = [singleSegment ? 1 : 0, 2, 4, 8][descriptor >> 6] as number;
    const header = yield { take: windowLength + dictionaryLength + sizeLength };
    const window = singleSegment ? contentSize(header.subarray(dictionaryLength)) : windowSize(header.readUInt8(0));
    if (window > largestWindow) {
      const advice = "decompress it, or compress it again without --long and --ultra";
      throw new DataError(`has a window of ${Math.ceil(window / 2 ** 20)} MiB, at most 64 can be read: ${advice}`, { file });
    }
    if (header.subarray(windowLength, windowLength + dictionaryLength).some((byte) => byte !== 0)) {
      throw new DataError("was compressed with a dictionary: compress it again without", { file });
    }
    for (let last = false; !last; ) {
      const block = (yield { take: 3 }).readUIntLE(0, 3);
      last = (block & 1) !== 0;
      const isRepeatedByte = ((block >> 1) & 3) === 1;
      yield { skip: isRepeatedByte ? 1 : block >> 3 };
    }
    if ((descriptor & 4) !== 0) yield { skip: 4 };
  }
}

function windowSize(byte: number): number {
  const base = 2 ** (10 + (byte >> 3));
  return base + (base / 8) * (byte & 7);
}

function contentSize(bytes: Buffer): number {
  if (bytes.length === 2) return bytes.readUInt16LE(0) + 256;
  return bytes.length === 8 ? Number(bytes.readBigUInt64LE(0)) : bytes.readUIntLE(0, bytes.length);
}

/** Sees the bytes of an archive before the decoder does; see `walkFrames`. */
export class ZstdCheck {
  private readonly walk: Generator<Step, never, Buffer>;
  private step: Step;
  private held: Buffer = Buffer.alloc(0);
  private skipped = 0;

  constructor(file: string) {
    this.walk = walkFrames(file);
    this.step = this.walk.next().value;
  }

  /** @throws DataError naming the file and what is wrong with it. */
  push(chunk: Uint8Array): void {
    for (let at = 0; ; ) {
      if ("skip" in this.step) {
        const count = Math.min(this.step.skip - this.skipped, chunk.length - at);
        at += count;
        this.skipped += count;
        if (this.skipped < this.step.skip) return;
        this.skipped = 0;
        this.step = this.walk.next(this.held).value;
      } else {
        const part = chunk.subarray(at, at + this.step.take - this.held.length);
        at += part.length;
        this.held = Buffer.concat([this.held, part]);
        if (this.held.length < this.step.take) return;
        const taken = this.held;
        this.held = Buffer.alloc(0);
        this.step = this.walk.next(taken).value;
      }
    }
  }
}
