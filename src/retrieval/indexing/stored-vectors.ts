import { type FileHandle, open } from "node:fs/promises";
import { DataError, InfrastructureError } from "../../errors.ts";

/** Rows come in groups of this many; the last group of a file is filled up with zeros. */
export const groupRows = 32;
/** Values of a block: 12 MiB, enough to keep every thread busy, small enough to stay in a processor's cache. */
const blockBytes = 12 * 2 ** 20;
const mostBlockRows = 8192;

/** Some rows of a file of vectors. */
export interface VectorBlock {
  /** Which block of the file, from 0. */
  readonly index: number;
  /** The first row. */
  readonly first: number;
  /** Rows, without those that fill up the last group. */
  readonly rows: number;
  /** Row after row, whole groups. */
  readonly values: Float32Array;
}

/** A file of raw vectors (float32, little-endian, row after row), read block by block, or held in memory once read. */
export class StoredVectors {
  private readonly held: VectorBlock[] = [];

  private constructor(
    readonly file: string,
    private readonly handle: FileHandle,
    readonly rows: number,
    readonly dimensions: number,
    /** Whether blocks stay in memory once they are read. */
    readonly inMemory: boolean,
  ) {}

  /**
   * @param memoryBytes A file that is no larger is held in memory.
   * @param rows How many there should be, where that is known.
   * @throws DataError naming the file when it is missing or its size is not that of so many rows.
   */
  static async open(file: string, dimensions: number, memoryBytes: number, rows?: number): Promise<StoredVectors> {
    const handle = await open(file).catch((error: NodeJS.ErrnoException) => {
      throw new DataError(`vectors can't be read (${error.code}): check the path, or build the index again`, { file }, { cause: error });
    });
    try {
      const { size } = await handle.stat();
      const rowBytes = 4 * dimensions;
      const expected = rows ?? Math.floor(size / rowBytes);
      if (size !== expected * rowBytes) throw wrongSize(file, size, dimensions, rows);
      return new StoredVectors(file, handle, expected, dimensions, size <= memoryBytes);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Rows of every block but the last. */
  get blockRows(): number {
    const fitting = Math.floor(blockBytes / (4 * this.dimensions * groupRows)) * groupRows;
    return Math.max(groupRows, Math.min(mostBlockRows, fitting));
  }

  /** Every block in order; the next one is read while one is used. Its values are valid until the next one is asked for. */
  async *blocks(): AsyncGenerator<VectorBlock> {
    const count = Math.ceil(this.rows / this.blockRows);
    const spare: Float32Array[] = [];
    let next = count === 0 ? undefined : this.block(0, spare);
    try {
      for (let index = 0; next !== undefined; index++) {
        const block: VectorBlock = await next;
        next = index + 1 < count ? this.block(index + 1, spare) : undefined;
        // Met by the await of the next turn.
        next?.catch(() => undefined);
        yield block;
        if (!this.inMemory) spare.push(block.values);
      }
    } finally {
      await next?.catch(() => undefined);
    }
  }

  async close(): Promise<void> {
    this.held.length = 0;
    await this.handle.close();
  }

  private async block(index: number, spare: Float32Array[]): Promise<VectorBlock> {
    const held = this.held[index];
    if (held !== undefined) return held;
    const first = index * this.blockRows;
    const rows = Math.min(this.blockRows, this.rows - first);
    const length = Math.ceil(rows / groupRows) * groupRows * this.dimensions;
    const values = (spare.pop() ?? new Float32Array(length)).subarray(0, length);
    await this.read(new Uint8Array(values.buffer, 0, rows * this.dimensions * 4), first * this.dimensions * 4);
    values.fill(0, rows * this.dimensions);
    const block = { index, first, rows, values };
    if (this.inMemory) this.held[index] = block;
    return block;
  }

  private async read(target: Uint8Array, position: number): Promise<void> {
    for (let done = 0; done < target.length; ) {
      const { bytesRead } = await this.handle.read(target, done, target.length - done, position + done).catch((error: Error) => {
        throw new InfrastructureError(`${this.file}: vectors can't be read: ${error.message}`, { cause: error });
      });
      if (bytesRead === 0) throw new InfrastructureError(`${this.file} has become shorter since it was opened: open the index again`);
      done += bytesRead;
    }
  }
}

function wrongSize(file: string, size: number, dimensions: number, rows: number | undefined): DataError {
  const found = `has ${size} bytes`;
  const wanted =
    rows === undefined
      ? `not whole rows of ${dimensions} float32 values (${4 * dimensions} bytes each)`
      : `but ${rows} rows of ${dimensions} float32 values are ${rows * dimensions * 4}`;
  return new DataError(`${found}, ${wanted}: build the index again, or correct the dimensions`, { file });
}
