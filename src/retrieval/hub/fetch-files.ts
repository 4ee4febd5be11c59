import { mkdir, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pLimit from "p-limit";
import { ConfigError, RunFolderError } from "../../errors.ts";
import { lockFolder } from "../../files/folder-lock.ts";
import { bytesText } from "../indexing/estimate.ts";
import { blobPath, linkIntoSnapshot, lockPlace, sizeOf, snapshotFolder, storageFolder, writeReference } from "./cache-layout.ts";
import type { FileChoice } from "./default-files.ts";
import { downloadBlob } from "./download-blob.ts";
import type { HubConnection } from "./hub-request.ts";
import { writeListing } from "./listing.ts";
import type { PullEvent } from "./pull-request.ts";
import type { Repository, RepositoryFile } from "./repository.ts";
import type { RepositoryContent } from "./repository-files.ts";
import type { HubSettings } from "./settings.ts";

const filesAtOnce = 4;
const lockPollMilliseconds = 500;

/**
 * Fetches what of the chosen files is missing in the cache, and notes the commit. `stop` ends all downloads when one fails.
 * @throws what `downloadBlob` throws; ConfigError when the disk is too small.
 */
export async function fetchFiles(
  connection: HubConnection,
  stop: AbortController,
  { commit, files: all }: RepositoryContent,
  { files, leftOut }: FileChoice,
  onProgress: (event: PullEvent) => void,
): Promise<void> {
  const { settings, repository, signal } = connection;
  const storage = storageFolder(settings.cache, repository);
  const isThere = async ({ path, size }: RepositoryFile) => (await sizeOf(join(snapshotFolder(storage, commit), path))) === size;
  const there = await Promise.all(files.map(isThere));
  const missing = files.filter((_, index) => !there[index]);
  onProgress({ kind: "plan", files, missing, leftOut });
  if (missing.length === 0) {
    // Nothing to write but notes, which a cache on a read-only disk does without.
    await noteDone(storage, repository, commit, all).catch(() => undefined);
    return;
  }
  const release = await lockRepository(connection, onProgress);
  try {
    await mkdir(join(storage, "blobs"), { recursive: true });
    await checkDisk(storage, missing);
    const total = files.reduce((sum, { size }) => sum + size, 0);
    let done = total - missing.reduce((sum, { size }) => sum + size, 0);
    const limit = pLimit(filesAtOnce);
    // The small ones first: a snapshot with weights then is one with all that belongs to them.
    const ordered = [...byContent(missing)].sort(([one], [other]) => one.size - other.size);
    const tasks = ordered.map((same) =>
      limit(async () => {
        signal.throwIfAborted();
        const [file] = same;
        let bytes = 0;
        const onBytes = (now: number) => {
          done += (now - bytes) * same.length;
          bytes = now;
          onProgress({ kind: "progress", done, total, path: file.path });
        };
        if ((await sizeOf(blobPath(storage, file.hash))) !== file.size) {
          await rm(blobPath(storage, file.hash), { force: true });
          await downloadBlob(connection, { file, url: fileUrl(settings, repository, commit, file.path), storage, onBytes });
        }
        onBytes(file.size);
        for (const each of same) await linkIntoSnapshot(storage, commit, each);
      }),
    );
    await allOrFirst(tasks, stop);
    await noteDone(storage, repository, commit, all);
  } finally {
    await release();
  }
}

async function noteDone(storage: string, { revision }: Repository, commit: string, all: readonly RepositoryFile[]): Promise<void> {
  await writeListing(storage, commit, all);
  await writeReference(storage, revision, commit);
}

/** Files of the same content share a blob, which must be fetched once only. */
function byContent(files: readonly RepositoryFile[]): Iterable<readonly [RepositoryFile, ...RepositoryFile[]]> {
  const groups = new Map<string, [RepositoryFile, ...RepositoryFile[]]>();
  for (const file of files) {
    const group = groups.get(file.hash);
    if (group === undefined) groups.set(file.hash, [file]);
    else group.push(file);
  }
  return groups.values();
}

/** Waits for all; the first failure stops the others and is the one thrown. */
async function allOrFirst(tasks: readonly Promise<void>[], stop: AbortController): Promise<void> {
  const failures: unknown[] = [];
  const watched = tasks.map((task) =>
    task.catch((error: unknown) => {
      failures.push(error);
      stop.abort();
    }),
  );
  await Promise.all(watched);
  if (failures.length > 0) throw failures[0];
}

/** One process a repository: another one's pull of it is waited for. */
async function lockRepository(
  { settings, repository, signal }: HubConnection,
  onProgress: (event: PullEvent) => void,
): Promise<() => Promise<void>> {
  const place = lockPlace(settings.cache, repository);
  await mkdir(place, { recursive: true });
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await lockFolder(place);
    } catch (error) {
      if (!(error instanceof RunFolderError)) throw error;
      if (isFirst) onProgress({ kind: "notice", words: `${error.message.split(": ")[0]}, which pulls the same: waiting for it` });
      await sleep(lockPollMilliseconds, undefined, { signal });
    }
  }
}

/** @throws ConfigError when what is missing won't fit. */
async function checkDisk(storage: string, missing: readonly RepositoryFile[]): Promise<void> {
  const sizes = await Promise.all(
    [...byContent(missing)].map(async ([{ hash, size }]) => {
      const blob = blobPath(storage, hash);
      return Math.max(0, size - ((await sizeOf(blob)) ?? (await sizeOf(`${blob}.incomplete`)) ?? 0));
    }),
  );
  const needed = sizes.reduce((sum, size) => sum + size, 0);
  const { bavail, bsize } = await statfs(storage);
  if (needed <= bavail * bsize) return;
  throw new ConfigError(
    `${bytesText(needed)} are missing, but the disk of ${storage} has ${bytesText(bavail * bsize)} free: free space, name fewer files, or set HF_HOME to a larger disk`,
  );
}

function fileUrl({ endpoint }: HubSettings, { kind, name }: Repository, commit: string, path: string): string {
  const encoded = path.split("/").map(encodeURIComponent).join("/");
  return `${endpoint}/${kind === "dataset" ? "datasets/" : ""}${name}/resolve/${commit}/${encoded}`;
}
