import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { graphData } from "../hub/default-files.ts";

/** SHA-256 of files that were hashed before in this process, by path, size and time of change. */
const known = new Map<string, Promise<string>>();

/**
 * SHA-256 (hexadecimal) over an encoder's graph, its weights in files beside it (see `graphData`) and its tokenizer:
 * what decides its vectors besides the settings in its identity.
 */
export async function encoderFingerprint({ graph, tokenizer }: { readonly graph: string; readonly tokenizer: string }): Promise<string> {
  const folder = dirname(graph);
  const beside = graphData(basename(graph), await readdir(folder)).sort();
  const files = [graph, ...beside.map((name) => join(folder, name)), tokenizer];
  const hashes = await Promise.all(files.map(fileSha256));
  return createHash("sha256").update(hashes.join("\n")).digest("hex");
}

async function fileSha256(file: string): Promise<string> {
  const { size, mtimeMs } = await stat(file);
  const key = JSON.stringify([file, size, mtimeMs]);
  const hash = known.get(key) ?? hashOf(file);
  known.set(key, hash);
  // A file that could not be read is tried again the next time.
  hash.catch(() => known.delete(key));
  return hash;
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) hash.update(chunk as Uint8Array);
  return hash.digest("hex");
}
