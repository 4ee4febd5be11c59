/** The cache that all of the Hub's clients share: https://huggingface.co/docs/huggingface_hub/guides/manage-cache */
import { copyFile, mkdir, readdir, rename, rm, stat, symlink } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { readIfPresent, writeAtomically } from "../../files/atomic-file.ts";
import type { Repository, RepositoryFile } from "./repository.ts";

/** A commit's full hash. */
export const commitPattern = /^[0-9a-f]{40}$/;

/** A repository's folder in the cache: `models--intfloat--e5-base-v2`, with `blobs/`, `refs/` and `snapshots/`. */
export function storageFolder(cache: string, { kind, name }: Repository): string {
  return join(cache, storageName({ kind, name }));
}

/** Where the lock of a repository lies, beside the locks of the other clients. */
export function lockPlace(cache: string, repository: Repository): string {
  return join(cache, ".locks", storageName(repository));
}

function storageName({ kind, name }: Pick<Repository, "kind" | "name">): string {
  return [`${kind}s`, ...name.split("/")].join("--");
}

export function blobPath(storage: string, hash: string): string {
  return join(storage, "blobs", hash);
}

export function snapshotFolder(storage: string, commit: string): string {
  return join(storage, "snapshots", commit);
}

/** The commit that the cache holds for a revision; undefined when it knows none. */
export async function cachedCommit(storage: string, revision: string): Promise<string | undefined> {
  // A note that can't be read, such as that of `main/x` beside one of `main`, is none.
  const noted = () => readIfPresent(join(storage, "refs", revision)).catch(() => undefined);
  const commit = commitPattern.test(revision) ? revision : (await noted())?.trim();
  if (commit === undefined || !commitPattern.test(commit)) return undefined;
  return (await sizeOf(snapshotFolder(storage, commit))) === undefined ? undefined : commit;
}

/** Notes which commit a branch or tag stands for. A commit needs no note. */
export async function writeReference(storage: string, revision: string, commit: string): Promise<void> {
  if (revision === commit) return;
  const file = join(storage, "refs", revision);
  if ((await readIfPresent(file)) === commit) return;
  await mkdir(dirname(file), { recursive: true });
  await writeAtomically(file, commit);
}

/** Puts a file of the snapshot in place: a relative link to its blob, or a copy where the system allows no links. */
export async function linkIntoSnapshot(storage: string, commit: string, { path, hash }: RepositoryFile): Promise<void> {
  const file = join(snapshotFolder(storage, commit), path);
  const draft = `${file}.${process.pid}.partial`;
  await mkdir(dirname(file), { recursive: true });
  await rm(draft, { force: true });
  try {
    await symlink(relative(dirname(file), blobPath(storage, hash)), draft).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EPERM" && error.code !== "ENOTSUP") throw error;
      return copyFile(blobPath(storage, hash), draft);
    });
    await rename(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
}

/** Files of a snapshot, as paths with `/`; links to nowhere are left out. */
export async function snapshotFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const files = await Promise.all(
    names.map(async (name) => {
      const info = await stat(join(folder, name)).catch(() => undefined);
      return info?.isFile() ? [name.replaceAll("\\", "/")] : [];
    }),
  );
  return files.flat().sort();
}

/** Bytes of a file, links followed; undefined when there is none. */
export async function sizeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ size }) => size,
    () => undefined,
  );
}
