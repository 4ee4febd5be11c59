/** GGUF files (version 2 and 3): metadata, and tensors read one by one as float32. */
import { type FileHandle, open } from "node:fs/promises";
import { ModelError } from "../../errors.ts";
import { type GgufFormat, ggufFormats } from "./gguf-blocks.ts";
import { GgufReader, type GgufValue } from "./gguf-reader.ts";

interface Entry {
  /** Row-major, as in PyTorch (the file stores sizes in the opposite order). */
  readonly shape: readonly number[];
  readonly format: GgufFormat;
  /** Bytes from the start of the file. */
  readonly begin: number;
  readonly bytes: number;
}

/** Whether a model path names a GGUF file rather than a folder. */
export function isGguf(path: string): boolean {
  return path.toLowerCase().endsWith(".gguf");
}

/** An open GGUF file. */
export class GgufFile {
  private constructor(
    readonly path: string,
    private readonly handle: FileHandle,
    readonly metadata: ReadonlyMap<string, GgufValue>,
    private readonly entries: ReadonlyMap<string, Entry>,
  ) {}

  /** @throws ModelError when the file is missing, no GGUF, truncated, or holds tensors of an unknown format. */
  static async open(path: string): Promise<GgufFile> {
    const handle = await open(path, "r").catch((error: unknown) => {
      throw new ModelError(`${path} can't be opened: ${(error as Error).message}`, { cause: error });
    });
    try {
      const { metadata, entries } = await readHeader(path, handle);
      return new GgufFile(path, handle, metadata, entries);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  get names(): string[] {
    return [...this.entries.keys()];
  }

  /** The shape of a tensor, or undefined when the file doesn't hold it. */
  shapeOf(name: string): readonly number[] | undefined {
    return this.entries.get(name)?.shape;
  }

  /** Reads and dequantises a tensor. @throws ModelError naming it when it is missing or has another shape. */
  async readInto(name: string, shape: readonly number[], target: Float32Array): Promise<void> {
    const entry = this.entries.get(name);
    if (entry === undefined) throw new ModelError(`${this.path}: tensor ${name} is missing`);
    if (entry.shape.join() !== shape.join()) {
      throw new ModelError(`${this.path}: tensor ${name} has shape [${entry.shape.join(", ")}], expected [${shape.join(", ")}]`);
    }
    const bytes = new Uint8Array(entry.bytes);
    let done = 0;
    while (done < bytes.length) {
      const { bytesRead } = await this.handle.read(bytes, done, bytes.length - done, entry.begin + done);
      if (bytesRead === 0) throw new ModelError(`${this.path} is truncated: tensor ${name} has ${done} of ${bytes.length} bytes`);
      done += bytesRead;
    }
    entry.format.decode(bytes, target);
  }

  async close(): Promise<void> {
    await this.handle.close();
  }
}

async function readHeader(path: string, handle: FileHandle) {
  const fileBytes = (await handle.stat()).size;
  const reader = new GgufReader(path, handle);
  if ((await reader.uint32()) !== 0x46554747) throw new ModelError(`${path}: not a GGUF file`);
  const version = await reader.uint32();
  if (version !== 2 && version !== 3) throw new ModelError(`${path}: GGUF version ${version}, supported are 2 and 3`);
  const tensors = await reader.uint64();
  const pairs = await reader.uint64();
  const metadata = new Map<string, GgufValue>();
  for (let index = 0; index < pairs; index++) metadata.set(await reader.string(), await reader.value(await reader.uint32()));
  const described: { name: string; shape: number[]; format: GgufFormat; offset: number; bytes: number }[] = [];
  for (let index = 0; index < tensors; index++) {
    const name = await reader.string();
    const shape: number[] = [];
    const sizes = await reader.uint32();
    for (let axis = 0; axis < sizes; axis++) shape.unshift(await reader.uint64());
    const type = await reader.uint32();
    const format = ggufFormats.get(type);
    if (format === undefined) {
      const known = [...ggufFormats.values()].map((one) => one.name).join(", ");
      throw new ModelError(`${path}: tensor ${name} has format ${type}, supported are ${known}: take another quantisation of the model`);
    }
    const count = shape.reduce((product, size) => product * size, 1);
    if ((shape.at(-1) ?? 1) % format.block !== 0)
      throw new ModelError(`${path}: tensor ${name}: rows of ${shape.at(-1)} numbers are no whole ${format.name} blocks`);
    described.push({ name, shape, format, offset: await reader.uint64(), bytes: (count / format.block) * format.bytes });
  }
  const alignment = metadata.get("general.alignment") ?? 32;
  if (typeof alignment !== "number" || alignment < 1) throw new ModelError(`${path}: general.alignment is ${JSON.stringify(alignment)}`);
  const dataStart = Math.ceil(reader.position / alignment) * alignment;
  const entries = new Map<string, Entry>();
  for (const { name, shape, format, offset, bytes } of described) {
    const begin = dataStart + offset;
    if (begin + bytes > fileBytes)
      throw new ModelError(`${path} is truncated: tensor ${name} ends at byte ${begin + bytes}, the file has ${fileBytes} bytes`);
    entries.set(name, { shape, format, begin, bytes });
  }
  return { metadata, entries };
}
