import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { DataError, RunFolderError } from "../../errors.ts";
import { readIfPresent } from "../../files/atomic-file.ts";

/** Names below an index folder. */
export const indexFiles = {
  manifest: "manifest.json",
  build: "build.json",
  documents: "documents",
  embedder: "embedder.json",
  vectors: "vectors.f32",
  lance: "lance",
  bm25: "bm25",
  skipped: "skipped.jsonl",
} as const;

const ownNames: readonly string[] = Object.values(indexFiles);

/** Whether a name in an index folder is ours, temporary files included. */
function isOwn(name: string): boolean {
  return ownNames.includes(name) || isLock(name) || isTemporary(name);
}

/** What an act of ours that was killed half-way leaves behind. */
function isTemporary(name: string): boolean {
  return /\.(partial|old)$/.test(name) && ownNames.some((own) => name.startsWith(`${own}.`));
}

function isLock(name: string): boolean {
  return /^lock\.([\w.]+\.)?(json|partial|stale)$/.test(name);
}

/**
 * Makes the folder where it is missing.
 * @throws RunFolderError when it holds anything but an index, finished or not: nothing shall be mixed with that, or removed.
 */
export async function prepareIndexFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const names = (await readdir(folder)).filter((name) => !isLock(name) && !isTemporary(name));
  const stranger = (await holdsIndex(folder)) ? names.find((name) => !isOwn(name)) : names[0];
  if (stranger === undefined) return;
  throw new RunFolderError(`${folder} holds other things (${stranger}): name a new or empty folder for the index`);
}

/** A folder of ours has a manifest or, while it is being built, a build.json, both with a format version. */
export async function holdsIndex(folder: string): Promise<boolean> {
  for (const name of [indexFiles.manifest, indexFiles.build]) {
    const text = await readIfPresent(join(folder, name));
    if (text !== undefined && /^\{\s*"formatVersion": *\d/.test(text)) return true;
  }
  return false;
}

/** Removes an index; the lock stays. What tells that the folder is ours goes last, and a finished index counts as unfinished from the start. */
export async function clearIndexFolder(folder: string): Promise<void> {
  const [manifest, build] = [join(folder, indexFiles.manifest), join(folder, indexFiles.build)];
  if ((await readIfPresent(manifest)) !== undefined) await rename(manifest, build);
  for (const name of await readdir(folder)) {
    if (isOwn(name) && !isLock(name) && name !== indexFiles.build) await rm(join(folder, name), { recursive: true, force: true });
  }
  await rm(build, { force: true });
}

/** Removes what killed acts left behind; to be called by the holder of the lock. */
export async function removeTemporaries(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (isTemporary(name)) await rm(join(folder, name), { recursive: true, force: true });
  }
}

/** Bytes of every file of the index by its path below the folder, in name order; not LanceDB's, whose names differ from build to build. */
export async function indexFileSizes(folder: string): Promise<Record<string, number>> {
  const names = [indexFiles.documents, indexFiles.embedder, indexFiles.vectors, indexFiles.bm25, indexFiles.skipped];
  const sizes: Record<string, number> = {};
  for (const name of [...names].sort()) {
    const about = await stat(join(folder, name)).catch(() => undefined);
    if (about?.isFile()) sizes[name] = about.size;
    if (!about?.isDirectory()) continue;
    for (const inner of (await readdir(join(folder, name))).sort())
      sizes[`${name}/${inner}`] = (await stat(join(folder, name, inner))).size;
  }
  return sizes;
}

/** @throws DataError naming the first file that is missing or has another size than the manifest says. */
export async function checkFileSizes(folder: string, expected: Readonly<Record<string, number>>): Promise<void> {
  for (const [name, bytes] of Object.entries(expected)) {
    const file = join(folder, name);
    const found = await stat(file).catch(() => undefined);
    if (found?.size === bytes) continue;
    const what = found === undefined ? "is missing" : `has ${found.size} bytes, the manifest says ${bytes}`;
    throw new DataError(`${what}: restore the file, or build the index again with --fresh`, { file });
  }
}

/** Bytes of everything below a folder; 0 where it isn't. */
export async function folderBytes(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  let bytes = 0;
  for (const name of names) {
    const about = await stat(join(folder, name)).catch(() => undefined);
    if (about?.isFile()) bytes += about.size;
  }
  return bytes;
}
