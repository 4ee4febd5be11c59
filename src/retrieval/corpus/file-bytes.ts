import { type FileHandle, open, stat } from "node:fs/promises";
import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { Decompress } from "fzstd";
import { DataError } from "../../errors.ts";
import { startsZstd, ZstdCheck } from "./zstd-frames.ts";

const chunkBytes = 256 * 1024;

/**
 * Bytes given to fzstd at once. It recurses once per frame, which must not reach the stack's end, and gives everything back together: up to
 * 128 KiB for 4 bytes where the text repeats itself.
 */
const zstdPushBytes = 1024;

/**
 * The content of a file as chunks, in constant memory; gzip and Zstandard (of any number of members or frames) are recognised by their
 * first bytes and decompressed. Checksums of gzip are compared, those of Zstandard are not. `onRead` hears the number of bytes taken
 * from the disk, compressed as they are.
 * @throws DataError naming the file when it can't be read, or when the archive is truncated, corrupt or not what its name says.
 */
export async function* fileBytes(file: string, onRead: (bytes: number) => void = () => undefined): AsyncGenerator<Uint8Array> {
  const failed = (error: unknown) => {
    throw unreadable(file, error);
  };
  const about = await stat(file).catch(failed);
  // To open a pipe would wait for its writer for ever.
  if (!about.isFile() && !about.isDirectory()) throw new DataError("is a pipe or a device: name a file", { file });
  const handle = await open(file).catch(failed);
  try {
    const compression = await compressionOf(handle, file);
    const chunks = diskChunks(handle, onRead);
    if (compression === "gzip") yield* gunzipped(chunks, file);
    else if (compression === "zstd") yield* unzstd(chunks, file);
    else yield* chunks;
  } catch (error) {
    throw isSystemError(error) ? unreadable(file, error) : error;
  } finally {
    await handle.close();
  }
}

/** The error for a file that the operating system refuses. */
export function unreadable(file: string, error: unknown): DataError {
  const reason = isSystemError(error) ? error.code : String(error);
  return new DataError(`can't be read (${reason}): check the path`, { file }, { cause: error });
}

function isSystemError(error: unknown): error is Error & { code: string } {
  return error instanceof Error && typeof (error as { code?: unknown }).code === "string";
}

async function compressionOf(handle: FileHandle, file: string): Promise<"none" | "gzip" | "zstd"> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0);
  const gzip = buffer[0] === 0x1f && buffer[1] === 0x8b;
  const zstd = startsZstd(buffer);
  const lowered = file.toLowerCase();
  for (const [suffix, name, right] of [[".gz", "gzip", gzip] as const, [".zst", "Zstandard", zstd] as const]) {
    if (!lowered.endsWith(suffix) || right) continue;
    const found = bytesRead === 0 ? "it is empty" : `it begins with bytes ${buffer.subarray(0, bytesRead).toString("hex")}`;
    throw new DataError(`is named ${suffix} but is no ${name} archive (${found}): fetch it again or correct its name`, { file });
  }
  return gzip ? "gzip" : zstd ? "zstd" : "none";
}

async function* diskChunks(handle: FileHandle, onRead: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  for (let position = 0; ; ) {
    const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafeSlow(chunkBytes), 0, chunkBytes, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    onRead(bytesRead);
    yield buffer.subarray(0, bytesRead);
  }
}

async function* gunzipped(chunks: AsyncIterable<Uint8Array>, file: string): AsyncGenerator<Uint8Array> {
  let compressed = 0;
  const counted = async function* () {
    for await (const chunk of chunks) {
      compressed += chunk.length;
      yield chunk;
    }
  };
  const inflate = createGunzip({ chunkSize: chunkBytes });
  // The callback may ignore failures: the loop below meets them too.
  pipeline(Readable.from(counted(), { objectMode: false, highWaterMark: chunkBytes }), inflate, () => undefined);
  try {
    for await (const chunk of inflate) yield chunk as Buffer;
  } catch (error) {
    if (isSystemError(error) && error.code.startsWith("Z_")) throw damaged(file, "gzip", error);
    throw error;
  }
  // zlib ends quietly at a member whose header is damaged: what follows would be lost unnoticed.
  if (inflate.bytesWritten < compressed) throw damaged(file, "gzip", new Error(`no gzip member at byte ${inflate.bytesWritten}`));
}

async function* unzstd(chunks: AsyncIterable<Uint8Array>, file: string): AsyncGenerator<Uint8Array> {
  let ready: Uint8Array[] = [];
  const check = new ZstdCheck(file);
  const decoder = new Decompress((data) => {
    if (data.length > 0) ready.push(data);
  });
  const pushed = (chunk: Uint8Array, final: boolean): Uint8Array[] => {
    check.push(chunk);
    try {
      decoder.push(chunk, final);
    } catch (error) {
      throw damaged(file, "Zstandard", error as Error);
    }
    const output = ready;
    ready = [];
    return output;
  };
  for await (const chunk of chunks) {
    for (let start = 0; start < chunk.length; start += zstdPushBytes) {
      yield* pushed(chunk.subarray(start, start + zstdPushBytes), false);
    }
  }
  yield* pushed(new Uint8Array(0), true);
}

function damaged(file: string, kind: string, error: Error): DataError {
  return new DataError(`the ${kind} archive is truncated or corrupt (${error.message}): fetch it again`, { file }, { cause: error });
}
