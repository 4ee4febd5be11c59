import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/** SHA-256 of a file's content, or of a folder's files (names and contents, in name order), in hexadecimal. */
export async function fingerprint(path: string): Promise<string> {
  const hash = createHash("sha256");
  await addTo(hash, path, "");
  return hash.digest("hex");
}

async function addTo(hash: ReturnType<typeof createHash>, path: string, name: string): Promise<void> {
  if ((await stat(path)).isDirectory()) {
    for (const entry of (await readdir(path)).sort()) await addTo(hash, join(path, entry), `${name}/${entry}`);
    return;
  }
  hash.update(`${name}\u0000`);
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
}
