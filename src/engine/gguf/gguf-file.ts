/** GGUF files (version 2 and 3): metadata, and tensors read one by one as float32. */
import type { FileHandle } from "node:fs/promises";
import { ModelError } from "../../errors.ts";
import { openTensorFile, type TensorEntry, TensorFile } from "../tensor-file.ts";
import { type GgufFormat, ggufFormats } from "./gguf-blocks.ts";
import { GgufReader, type GgufValue } from "./gguf-reader.ts";

/** Whether a model path names a GGUF file rather than a folder. */
export function isGguf(path: string): boolean {
  return path.toLowerCase().endsWith(".gguf");
}

/** An open GGUF file. */
export class GgufFile extends TensorFile {
  private constructor(
    path: string,
    handle: FileHandle,
    readonly metadata: ReadonlyMap<string, GgufValue>,
    entries: ReadonlyMap<string, TensorEntry>,
  ) {
    super(path, handle, entries);
  }

  /** @throws ModelError when the file is missing, no GGUF, truncated, or holds tensors of an unknown format. */
  static open(path: string): Promise<GgufFile> {
    return openTensorFile(path, async (handle) => {
      const { metadata, entries } = await readHeader(path, handle);
      return new GgufFile(path, handle, metadata, entries);
    });
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
    // The file stores sizes in the opposite order.
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
  const entries = new Map<string, TensorEntry>();
  for (const { name, shape, format, offset, bytes } of described) {
    const begin = dataStart + offset;
    if (begin + bytes > fileBytes)
      throw new ModelError(`${path} is truncated: tensor ${name} ends at byte ${begin + bytes}, the file has ${fileBytes} bytes`);
    entries.set(name, { shape, begin, bytes, decode: format.decode });
  }
  return { metadata, entries };
}
