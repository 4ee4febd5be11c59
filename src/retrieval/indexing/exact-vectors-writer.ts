import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { InfrastructureError } from "../../errors.ts";
import type { VectorWriter } from "./vector-index.ts";

/**
 * A writer of raw vectors: float32, little-endian, row after row, nothing else. A file that is there is gone on with; a row that a kill
 * has torn is cut off.
 * @param file Made where it is missing; its folder must be there.
 * @throws InfrastructureError naming the file when it can't be opened.
 */
export async function openExactWriter(file: string, dimensions: number): Promise<VectorWriter> {
  if (!Number.isInteger(dimensions) || dimensions < 1)
    throw new RangeError(`dimensions: expected a positive whole number, got ${dimensions}`);
  let handle: FileHandle | undefined;
  try {
    // Not "a": positions are ours, so that what a failed write leaves can be overwritten.
    handle = await open(file, "r+").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return open(file, "wx+");
      throw error;
    });
    const { size } = await handle.stat();
    const rows = Math.floor(size / (4 * dimensions));
    if (size !== rows * 4 * dimensions) await handle.truncate(rows * 4 * dimensions);
    await handle.sync();
    await syncFolder(dirname(file));
    return new ExactWriter(file, handle, dimensions, rows);
  } catch (error) {
    await handle?.close();
    throw failed(file, error);
  }
}

class ExactWriter implements VectorWriter {
  /** The append before: one at a time. */
  private previous: Promise<void> = Promise.resolve();

  constructor(
    private readonly file: string,
    private readonly handle: FileHandle,
    private readonly dimensions: number,
    private written: number,
  ) {}

  get rows(): number {
    return this.written;
  }

  /** @throws RangeError for half a row; InfrastructureError when the disk is full or fails: nothing of these rows is kept. */
  append(vectors: Float32Array): Promise<void> {
    if (vectors.length % this.dimensions !== 0) {
      return Promise.reject(new RangeError(`${vectors.length} values are not whole rows of ${this.dimensions}`));
    }
    const appended = this.previous.then(() => this.write(vectors));
    this.previous = appended.catch(() => undefined);
    return appended;
  }

  private async write(vectors: Float32Array): Promise<void> {
    const start = this.written * this.dimensions * 4;
    try {
      const bytes = new Uint8Array(vectors.buffer, vectors.byteOffset, vectors.byteLength);
      for (let done = 0; done < bytes.length; ) {
        done += (await this.handle.write(bytes, done, bytes.length - done, start + done)).bytesWritten;
      }
      await this.handle.sync();
    } catch (error) {
      await this.handle.truncate(start).catch(() => undefined);
      throw failed(this.file, error);
    }
    this.written += vectors.length / this.dimensions;
  }

  /** Exact search needs nothing besides the rows. */
  async finish(): Promise<void> {
    await this.previous;
  }

  async close(): Promise<void> {
    await this.previous;
    await this.handle.close();
  }
}

/** Makes a new name in a folder durable, where the system can. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function failed(file: string, error: unknown): InfrastructureError {
  return new InfrastructureError(`${file}: vectors can't be written: ${(error as Error).message}`, { cause: error });
}
