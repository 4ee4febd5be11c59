/** What all files of named tensors have in common: they are opened whole or not at all, and read one tensor after the other as float32. */
import { type FileHandle, open } from "node:fs/promises";
import { ModelError } from "../errors.ts";

/** Where a tensor lies in a file, and how its bytes become numbers. */
export interface TensorEntry {
  /** Row-major, as in PyTorch. */
  readonly shape: readonly number[];
  /** Bytes from the start of the file. */
  readonly begin: number;
  readonly bytes: number;
  readonly decode: (source: Uint8Array<ArrayBuffer>, target: Float32Array) => void;
}

/** An open file; a model needs no second copy in memory. */
export class TensorFile {
  protected constructor(
    readonly path: string,
    private readonly handle: FileHandle,
    private readonly entries: ReadonlyMap<string, TensorEntry>,
  ) {}

  get names(): string[] {
    return [...this.entries.keys()];
  }

  /** The shape of a tensor, or undefined when the file doesn't hold it. */
  shapeOf(name: string): readonly number[] | undefined {
    return this.entries.get(name)?.shape;
  }

  /**
   * Reads a tensor as float32 into `target`.
   * @throws ModelError naming the tensor when it is missing or has another shape.
   */
  async readInto(name: string, shape: readonly number[], target: Float32Array): Promise<void> {
    const entry = this.entries.get(name);
    if (entry === undefined) throw new ModelError(`${this.path}: tensor ${name} is missing`);
    if (entry.shape.join() !== shape.join()) {
      throw new ModelError(`${this.path}: tensor ${name} has shape [${entry.shape.join(", ")}], expected [${shape.join(", ")}]`);
    }
    const bytes = new Uint8Array(entry.bytes);
    await readFully(this.path, this.handle, bytes, entry.begin, `tensor ${name}`);
    entry.decode(bytes, target);
  }

  async close(): Promise<void> {
    await this.handle.close();
  }
}

/** Opens a file and makes something of its head; closed again when that fails. @throws ModelError when it can't be opened. */
export async function openTensorFile<Result>(path: string, read: (handle: FileHandle) => Promise<Result>): Promise<Result> {
  const handle = await open(path, "r").catch((error: unknown) => {
    throw new ModelError(`${path} can't be opened: ${(error as Error).message}`, { cause: error });
  });
  try {
    return await read(handle);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Fills `target` from a place in the file. @throws ModelError naming what is truncated. */
export async function readFully(path: string, handle: FileHandle, target: Uint8Array, position: number, what: string): Promise<void> {
  let done = 0;
  while (done < target.length) {
    const { bytesRead } = await handle.read(target, done, target.length - done, position + done);
    if (bytesRead === 0) throw new ModelError(`${path}: ${what} is truncated: ${done} of ${target.length} bytes`);
    done += bytesRead;
  }
}
