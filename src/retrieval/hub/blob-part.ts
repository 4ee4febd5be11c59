import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import type { RepositoryFile } from "./repository.ts";

/** The bytes of a blob that are there, and their hash so far. */
export class BlobPart {
  private hash: Hash;
  bytes = 0;

  private constructor(
    private readonly handle: FileHandle,
    private readonly file: RepositoryFile,
    private readonly onBytes: (bytes: number) => void,
  ) {
    this.hash = startHash(file);
  }

  /** Reads what an earlier run left. */
  static async of(handle: FileHandle, path: string, file: RepositoryFile, onBytes: (bytes: number) => void): Promise<BlobPart> {
    const part = new BlobPart(handle, file, onBytes);
    if ((await handle.stat()).size > file.size) await handle.truncate(0);
    for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>) {
      part.hash.update(chunk);
      part.bytes += chunk.length;
    }
    onBytes(part.bytes);
    return part;
  }

  async append(chunk: Uint8Array): Promise<void> {
    for (let done = 0; done < chunk.length; ) {
      const { bytesWritten } = await this.handle.write(chunk, done, chunk.length - done, this.bytes + done);
      done += bytesWritten;
    }
    this.hash.update(chunk);
    this.bytes += chunk.length;
    this.onBytes(this.bytes);
  }

  async restart(): Promise<void> {
    if (this.bytes === 0) return;
    await this.handle.truncate(0);
    this.hash = startHash(this.file);
    this.bytes = 0;
  }

  isRight(): boolean {
    return this.bytes === this.file.size && this.hash.copy().digest("hex") === this.file.hash;
  }
}

/** A Git object's hash covers a header too. */
function startHash({ hash, size }: RepositoryFile): Hash {
  return hash.length === 64 ? createHash("sha256") : createHash("sha1").update(`blob ${size}\0`);
}
