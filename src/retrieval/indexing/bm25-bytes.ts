/** Numbers and strings as bytes. A varint has seven bits of a number below 2^32 a byte, lowest first, the top bit set on all bytes but the last. */
import { closeSync, fsyncSync, openSync, readSync, writeSync } from "node:fs";
import { RunFolderError } from "../../errors.ts";

const flushBytes = 1 << 20;
const longestVarint = 5;

/** Bytes that grow. */
export class ByteBuffer {
  protected buffer: Buffer = Buffer.allocUnsafe(1 << 12);
  length = 0;

  varint(value: number): void {
    this.reserve(longestVarint);
    let rest = value;
    while (rest >= 128) {
      this.buffer[this.length++] = (rest & 127) | 128;
      rest >>>= 7;
    }
    this.buffer[this.length++] = rest;
  }

  unsigned(value: number): void {
    this.reserve(4);
    this.buffer.writeUInt32LE(value, this.length);
    this.length += 4;
  }

  double(value: number): void {
    this.reserve(8);
    this.buffer.writeDoubleLE(value, this.length);
    this.length += 8;
  }

  bytes(source: Uint8Array): void {
    this.reserve(source.length);
    this.buffer.set(source, this.length);
    this.length += source.length;
  }

  /** Bytes of the spelling, then the spelling. */
  word(word: string): void {
    const spelling = Buffer.from(word);
    this.varint(spelling.length);
    this.bytes(spelling);
  }

  /** What was written; valid until the next write. */
  view(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  clear(): void {
    this.length = 0;
  }

  private reserve(more: number): void {
    if (this.length + more <= this.buffer.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.length + more));
    larger.set(this.view());
    this.buffer = larger;
  }
}

/** The same into a file. Synchronous: whoever writes much lets other work run in between. */
export class ByteFile extends ByteBuffer {
  private readonly descriptor: number;
  private flushed = 0;

  /** @throws RunFolderError naming the file that can't be written; so do the other methods. */
  constructor(private readonly path: string) {
    super();
    this.descriptor = this.guarded(() => openSync(path, "w"));
  }

  /** Bytes written so far. */
  get position(): number {
    return this.flushed + this.length;
  }

  /** Hands what has gathered to the system once it is much. */
  drain(least = flushBytes): void {
    if (this.length < least) return;
    const view = this.view();
    for (let done = 0; done < view.length; ) done += this.guarded(() => writeSync(this.descriptor, view, done));
    this.flushed += view.length;
    this.clear();
  }

  /** Everything on the disk. */
  finish(): void {
    this.drain(1);
    this.guarded(() => fsyncSync(this.descriptor));
  }

  close(): void {
    closeSync(this.descriptor);
  }

  private guarded<Result>(act: () => Result): Result {
    try {
      return act();
    } catch (error) {
      throw new RunFolderError(`${this.path} can't be written: ${(error as Error).message}`, { cause: error });
    }
  }
}

/** Reads what `ByteBuffer` wrote. Past the end varints are 0: callers check `position`. */
export class ByteReader {
  position = 0;
  constructor(readonly bytes: Buffer) {}

  varint(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.bytes[this.position++] ?? 0;
      value |= (byte & 127) << shift;
      if (byte < 128) break;
    }
    return value >>> 0;
  }

  double(): number {
    this.position += 8;
    return this.bytes.readDoubleLE(this.position - 8);
  }

  word(): string {
    const length = this.varint();
    this.position += length;
    return this.bytes.toString("utf8", this.position - length, this.position);
  }
}

/** A file read from front to back through a window. */
export class FileWindow {
  private readonly descriptor: number;
  private reader = new ByteReader(Buffer.alloc(0));

  constructor(path: string) {
    this.descriptor = openSync(path, "r");
  }

  /** A reader with the next `length` bytes before it, fewer only at the file's end. */
  ahead(length: number): ByteReader {
    const rest = this.reader.bytes.subarray(this.reader.position);
    if (rest.length >= length) return this.reader;
    const buffer = Buffer.allocUnsafe(Math.max(length, flushBytes / 4));
    buffer.set(rest);
    let filled = rest.length;
    while (filled < buffer.length) {
      const read = readSync(this.descriptor, buffer, filled, buffer.length - filled, null);
      if (read === 0) break;
      filled += read;
    }
    this.reader = new ByteReader(buffer.subarray(0, filled));
    return this.reader;
  }

  close(): void {
    closeSync(this.descriptor);
  }
}
