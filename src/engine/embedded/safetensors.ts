/** The safetensors format: 8 bytes of header length, a JSON header, the tensors' bytes. Read as float32, written as F32. */
import { type FileHandle, open } from "node:fs/promises";
import { ModelError } from "../../errors.ts";
import { decodeBfloat16, halfToFloat } from "../half-float.ts";
import { openTensorFile, readFully, type TensorEntry, TensorFile } from "../tensor-file.ts";
import { elementCount } from "./architecture.ts";

const bytesPerElement = { F32: 4, F16: 2, BF16: 2 } as const;
type ElementFormat = keyof typeof bytesPerElement;

/** Beyond this a header is garbage (the reference implementation has the same limit). */
const maxHeaderBytes = 100_000_000;

/** A tensor to be written. */
export interface NamedTensor {
  readonly name: string;
  readonly shape: readonly number[];
  /** Asked for when the tensor is written: not all need exist at once. */
  readonly data: () => Float32Array;
}

/** An open safetensors file. */
export class SafetensorsFile extends TensorFile {
  /** @throws ModelError when the file is missing, its header is broken, or it is shorter than the header says. */
  static open(path: string): Promise<SafetensorsFile> {
    return openTensorFile(path, async (handle) => new SafetensorsFile(path, handle, await readEntries(path, handle)));
  }
}

/** Writes tensors as F32 in the given order. Not atomic by itself: write into a folder that `replaceFolder` puts in place. */
export async function writeSafetensors(path: string, tensors: readonly NamedTensor[]): Promise<void> {
  const header: Record<string, unknown> = { __metadata__: { format: "pt" } };
  let offset = 0;
  for (const { name, shape } of tensors) {
    const bytes = 4 * elementCount(shape);
    header[name] = { dtype: "F32", shape, data_offsets: [offset, offset + bytes] };
    offset += bytes;
  }
  const json = new TextEncoder().encode(JSON.stringify(header));
  // Spaces after the JSON align the tensors to 8 bytes, as the format asks.
  const padded = new Uint8Array(Math.ceil(json.length / 8) * 8).fill(32);
  padded.set(json);
  const length = new Uint8Array(8);
  new DataView(length.buffer).setBigUint64(0, BigInt(padded.length), true);
  const handle = await open(path, "w");
  try {
    await writeFully(handle, length);
    await writeFully(handle, padded);
    for (const { name, shape, data } of tensors) {
      const numbers = data();
      if (numbers.length !== elementCount(shape)) {
        throw new Error(`tensor ${name}: ${numbers.length} numbers for shape [${shape.join(", ")}]`);
      }
      await writeFully(handle, new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength));
    }
  } finally {
    await handle.close();
  }
}

async function writeFully(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  let written = 0;
  while (written < bytes.length) written += (await handle.write(bytes, written, bytes.length - written)).bytesWritten;
}

async function readEntries(path: string, handle: FileHandle): Promise<Map<string, TensorEntry>> {
  const fileBytes = (await handle.stat()).size;
  const prefix = new Uint8Array(8);
  await readFully(path, handle, prefix, 0, "header length");
  const headerBytes = Number(new DataView(prefix.buffer).getBigUint64(0, true));
  if (headerBytes < 2 || headerBytes > maxHeaderBytes || headerBytes > fileBytes - 8) {
    throw new ModelError(
      `${path}: not a safetensors file, or truncated: the header is said to have ${headerBytes} bytes, the file has ${fileBytes}`,
    );
  }
  const header = new Uint8Array(headerBytes);
  await readFully(path, handle, header, 8, "header");
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(header));
  } catch (error) {
    throw new ModelError(`${path}: the safetensors header is not JSON: ${(error as Error).message}`, { cause: error });
  }
  const entries = new Map<string, TensorEntry>();
  for (const [name, value] of Object.entries(json as Record<string, unknown>)) {
    if (name !== "__metadata__") entries.set(name, readEntry(path, name, value, 8 + headerBytes, fileBytes));
  }
  return entries;
}

function readEntry(path: string, name: string, value: unknown, dataStart: number, fileBytes: number): TensorEntry {
  const { dtype, shape, data_offsets: offsets } = (value ?? {}) as { dtype?: unknown; shape?: unknown; data_offsets?: unknown };
  const natural = (items: unknown): items is number[] =>
    Array.isArray(items) && items.every((item) => Number.isSafeInteger(item) && item >= 0);
  if (!natural(shape) || !natural(offsets) || offsets.length !== 2) {
    throw new ModelError(`${path}: tensor ${name} has no valid shape and data_offsets in the header`);
  }
  if (typeof dtype !== "string" || !(dtype in bytesPerElement)) {
    throw new ModelError(
      `${path}: tensor ${name} has dtype ${JSON.stringify(dtype)}, supported are ${Object.keys(bytesPerElement).join(", ")}`,
    );
  }
  const format = dtype as ElementFormat;
  const [begin, end] = offsets as [number, number];
  const expected = elementCount(shape) * bytesPerElement[format];
  if (end - begin !== expected) {
    throw new ModelError(
      `${path}: tensor ${name} of shape [${shape.join(", ")}] needs ${expected} bytes, its data_offsets span ${end - begin}`,
    );
  }
  if (dataStart + end > fileBytes) {
    throw new ModelError(`${path} is truncated: tensor ${name} ends at byte ${dataStart + end}, the file has ${fileBytes} bytes`);
  }
  return { shape, begin: dataStart + begin, bytes: expected, decode: (source, target) => decode(source, format, target) };
}

function decode(bytes: Uint8Array<ArrayBuffer>, format: ElementFormat, target: Float32Array): void {
  if (format === "F32") {
    target.set(new Float32Array(bytes.buffer));
    return;
  }
  const halves = new Uint16Array(bytes.buffer);
  if (format === "BF16") decodeBfloat16(halves, target);
  else for (let index = 0; index < halves.length; index++) target[index] = halfToFloat(halves[index] as number);
}
