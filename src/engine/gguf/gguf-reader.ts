import type { FileHandle } from "node:fs/promises";
import { ModelError } from "../../errors.ts";

/** A metadata value; 64-bit integers become numbers. */
export type GgufValue = number | boolean | string | readonly GgufValue[];

const chunkBytes = 1 << 20;
/** Longer strings and arrays are garbage. */
const maxLength = 1 << 28;

/** Reads the header of a GGUF file front to back, in chunks. */
export class GgufReader {
  private buffer = Buffer.alloc(0);
  /** Where `buffer` begins in the file, and how much of it is consumed. */
  private start = 0;
  private used = 0;

  constructor(
    private readonly path: string,
    private readonly handle: FileHandle,
  ) {}

  /** Bytes consumed. */
  get position(): number {
    return this.start + this.used;
  }

  async uint32(): Promise<number> {
    return (await this.take(4)).readUInt32LE();
  }

  async uint64(): Promise<number> {
    return Number((await this.take(8)).readBigUInt64LE());
  }

  async string(): Promise<string> {
    return (await this.take(this.checked(await this.uint64()))).toString("utf8");
  }

  /** A metadata value of the given type number. */
  async value(type: number): Promise<GgufValue> {
    switch (type) {
      case 0:
        return (await this.take(1)).readUInt8();
      case 1:
        return (await this.take(1)).readInt8();
      case 2:
        return (await this.take(2)).readUInt16LE();
      case 3:
        return (await this.take(2)).readInt16LE();
      case 4:
        return this.uint32();
      case 5:
        return (await this.take(4)).readInt32LE();
      case 6:
        return (await this.take(4)).readFloatLE();
      case 7:
        return (await this.take(1)).readUInt8() !== 0;
      case 8:
        return this.string();
      case 9: {
        const itemType = await this.uint32();
        const length = this.checked(await this.uint64());
        const items: GgufValue[] = [];
        for (let index = 0; index < length; index++) items.push(await this.value(itemType));
        return items;
      }
      case 10:
        return this.uint64();
      case 11:
        return Number((await this.take(8)).readBigInt64LE());
      case 12:
        return (await this.take(8)).readDoubleLE();
      default:
        throw new ModelError(`${this.path}: metadata of unknown type ${type} at byte ${this.position}: the file is damaged`);
    }
  }

  private checked(length: number): number {
    if (length > maxLength) throw new ModelError(`${this.path}: a length of ${length} at byte ${this.position}: the file is damaged`);
    return length;
  }

  private async take(bytes: number): Promise<Buffer> {
    if (this.used + bytes > this.buffer.length) {
      const rest = this.buffer.subarray(this.used);
      const fresh = Buffer.alloc(Math.max(chunkBytes, bytes));
      const { bytesRead } = await this.handle.read(fresh, 0, fresh.length, this.start + this.buffer.length);
      this.start += this.used;
      this.used = 0;
      this.buffer = Buffer.concat([rest, fresh.subarray(0, bytesRead)]);
      if (this.buffer.length < bytes)
        throw new ModelError(`${this.path} is truncated: its header ends at byte ${this.start + this.buffer.length}`);
    }
    const taken = this.buffer.subarray(this.used, this.used + bytes);
    this.used += bytes;
    return taken;
  }
}
