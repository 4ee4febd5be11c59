import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DataError } from "../../errors.ts";
import { fileBytes } from "./file-bytes.ts";

const fixtures = new URL("../../../test/fixtures/retrieval/", import.meta.url);
/** What is read from the disk at once. */
const chunkBytes = 256 * 1024;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "bytes-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function written(name: string, bytes: Uint8Array): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, bytes);
  return file;
}

async function read(file: string): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of fileBytes(file)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const content = Buffer.from(Array.from({ length: 40_000 }, (_, index) => `line ${(index * 7919) % 10_007}\n`).join(""));

/** A gzip member of exactly `size` bytes: the header's comment is as long as it takes. */
function memberOf(size: number, bytes: Uint8Array): Buffer {
  const plain = gzipSync(bytes);
  const padded = Buffer.concat([plain.subarray(0, 10), Buffer.alloc(size - plain.length - 1, 0x63), Buffer.alloc(1), plain.subarray(10)]);
  padded[3] = 0x10;
  return padded;
}

/** A Zstandard frame of one uncompressed block. */
function rawFrame(bytes: Uint8Array): Buffer {
  const header = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x20, bytes.length, 0, 0, 0]);
  header.writeUIntLE((bytes.length << 3) | 1, 6, 3);
  return Buffer.concat([header, bytes]);
}

it.skipIf(process.platform === "win32")("refuses a pipe, which it could wait for for ever", async () => {
  const file = join(folder, "pipe.jsonl");
  execFileSync("mkfifo", [file]);
  await expect(fileBytes(file).next()).rejects.toThrow("pipe.jsonl: is a pipe or a device: name a file");
});

describe("fileBytes", () => {
  it("reads a plain file, whatever its size, and counts its bytes", async () => {
    for (const size of [0, 1, 3, chunkBytes - 1, chunkBytes, chunkBytes + 1]) {
      const bytes = Buffer.alloc(size, "abc");
      const file = await written("plain", bytes);
      let counted = 0;
      for await (const chunk of fileBytes(file, (count) => (counted += count))) expect(chunk.length).toBeGreaterThan(0);
      expect(counted).toBe(size);
      expect((await read(file)).equals(bytes)).toBe(true);
    }
  });

  it("reads gzip of several members, also where one ends with a chunk, and counts compressed bytes", async () => {
    const members = [memberOf(chunkBytes, content), gzipSync(""), gzipSync(content), memberOf(2 * chunkBytes - 1, content)];
    const archive = Buffer.concat(members);
    const file = await written("members.gz", archive);
    expect((await read(file)).equals(Buffer.concat([content, content, content]))).toBe(true);
    let counted = 0;
    for await (const _ of fileBytes(file, (count) => (counted += count)));
    expect(counted).toBe(archive.length);
  });

  it("recognises an archive whatever its name", async () => {
    expect((await read(await written("unnamed", gzipSync(content)))).equals(content)).toBe(true);
    expect((await read(await written("unnamed", rawFrame(Buffer.from("x"))))).toString()).toBe("x");
  });

  it("reads Zstandard of several frames, skippable ones and thousands of tiny ones included", async () => {
    const file = new URL("two-frames.jsonl.zst", fixtures).pathname;
    expect((await read(file)).toString().match(/"id":\d/g)).toEqual(['"id":1', '"id":2']);
    const pieces = Array.from({ length: 20_000 }, (_, index) => Buffer.from(`${index}\n`));
    const many = await written("many.zst", Buffer.concat(pieces.map(rawFrame)));
    expect((await read(many)).equals(Buffer.concat(pieces))).toBe(true);
  });

  it("holds little of Zstandard that repeats itself", async () => {
    const blocks = 1200;
    const bytes = 128 * 1024;
    const repeated = Array.from({ length: blocks }, (_, index) => {
      const block = Buffer.alloc(4, "a");
      block.writeUIntLE((bytes << 3) | 2 | Number(index === blocks - 1), 0, 3);
      return block;
    });
    const file = await written("repeated.zst", Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x38]), ...repeated]));
    setFlagsFromString("--expose-gc");
    const collectGarbage = runInNewContext("gc") as () => void;
    const held = () => {
      collectGarbage();
      return process.memoryUsage().arrayBuffers;
    };
    const before = held();
    let [size, chunks, most] = [0, 0, 0];
    for await (const chunk of fileBytes(file)) {
      size += chunk.length;
      if (chunks++ % 200 === 0) most = Math.max(most, held() - before);
    }
    expect(size).toBe(blocks * bytes);
    expect(most).toBeLessThan(100 * 2 ** 20);
  });

  it.each([
    ["long-window.jsonl.zst", "has a window of 128 MiB, at most 64 can be read"],
    ["dictionary.jsonl.zst", "was compressed with a dictionary"],
  ])("refuses %s, which would be decoded wrongly", async (name, message) => {
    const file = new URL(name, fixtures).pathname;
    await expect(read(file)).rejects.toThrow(`${file}: ${message}`);
  });

  it("refuses an archive that is cut off anywhere but between members", async () => {
    const twoFrames = await readFile(new URL("two-frames.jsonl.zst", fixtures));
    const small = gzipSync("a small text\n");
    const archives = [
      { name: "cut.gz", bytes: Buffer.concat([small, small]), whole: [small.length] },
      { name: "cut.zst", bytes: twoFrames, whole: frameEnds(twoFrames) },
    ];
    for (const { name, bytes, whole } of archives) {
      for (let size = 0; size < bytes.length; size++) {
        const file = await written(name, bytes.subarray(0, size));
        if (whole.includes(size)) expect((await read(file)).length).toBeGreaterThan(0);
        else await expect(read(file), `${name} of ${size} bytes`).rejects.toBeInstanceOf(DataError);
      }
    }
  });

  it("refuses a gzip archive with a wrong byte, or with something else after it", async () => {
    // The compressed bits end within it: the rest of it means nothing.
    const paddedByte = 21;
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 10, max: 29 }).filter((at) => at !== paddedByte),
        fc.integer({ min: 1, max: 255 }),
        async (at, change) => {
          const bytes = gzipSync("abcdefghij");
          bytes[at] = (bytes[at] as number) ^ change;
          await expect(read(await written("wrong.gz", bytes))).rejects.toThrow("the gzip archive is truncated or corrupt");
        },
      ),
      { numRuns: 60 },
    );
    const garbage = await written("garbage.gz", Buffer.concat([gzipSync("abc"), Buffer.from("garbage")]));
    await expect(read(garbage)).rejects.toThrow("the gzip archive is truncated or corrupt (incorrect header check)");
    const zeros = await written("zeros.gz", Buffer.concat([gzipSync("abc"), Buffer.alloc(7)]));
    await expect(read(zeros)).rejects.toThrow("the gzip archive is truncated or corrupt (no gzip member at byte 23)");
  });

  it("names a file that is missing, a folder, or no archive", async () => {
    await expect(read(join(folder, "none"))).rejects.toThrow("none: can't be read (ENOENT)");
    await expect(read(folder)).rejects.toThrow("can't be read (EISDIR)");
    await expect(read(await written("page.gz", Buffer.from("<html>")))).rejects.toThrow(
      "page.gz: is named .gz but is no gzip archive (it begins with bytes 3c68746d)",
    );
    await expect(read(await written("empty.zst", Buffer.alloc(0)))).rejects.toThrow("is no Zstandard archive (it is empty)");
  });
});

/** Where the first frame, and the skippable frame after it, end. */
function frameEnds(archive: Buffer): number[] {
  const skippable = archive.indexOf(Buffer.from([0x50, 0x2a, 0x4d, 0x18]));
  return [skippable, skippable + 8 + archive.readUInt32LE(skippable + 4)];
}
