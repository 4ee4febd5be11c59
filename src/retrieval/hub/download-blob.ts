import { constants } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { linkedAbort } from "../../endpoint/linked-abort.ts";
import { DataError } from "../../errors.ts";
import { BlobPart } from "./blob-part.ts";
import { blobPath } from "./cache-layout.ts";
import { connectionFailure, HubFailure } from "./hub-failure.ts";
import { type HubConnection, requestOnce, withRetries } from "./hub-request.ts";
import type { RepositoryFile } from "./repository.ts";

/** A file on its way into the cache. */
export interface BlobDownload {
  readonly file: RepositoryFile;
  readonly url: string;
  /** The repository's folder in the cache. */
  readonly storage: string;
  /** Told how many bytes of the file are there. */
  readonly onBytes: (bytes: number) => void;
}

/** Without a byte for so long, a connection is given up. */
const stallSeconds = 60;
/** A try that brought so much doesn't count against the retries. */
const progressBytes = 1 << 20;

/**
 * Fetches a blob of the cache. The library's own `downloadFileToCacheDir` starts from the first byte each time and checks no hash, so this
 * is done here: the bytes gather in `<blob>.incomplete`, which a later run, even after a kill, goes on with; the file gets its name when its
 * hash is right.
 * @throws DataError when the hash is wrong (the file is then removed), and what `withRetries` throws.
 */
export async function downloadBlob(connection: HubConnection, download: BlobDownload): Promise<void> {
  const { file, url, storage, onBytes } = download;
  const part = `${blobPath(storage, file.hash)}.incomplete`;
  const earlier = await receive(connection, download, part);
  if (earlier.isRight) return rename(part, blobPath(storage, file.hash));
  await rm(part, { force: true });
  onBytes(0);
  if (earlier.resumedAt > 0) {
    // The part of an earlier run may be the damaged one: once more, from the start.
    connection.onRetry(`${file.path}: what an earlier run left does not fit`);
    if ((await receive(connection, download, part)).isRight) return rename(part, blobPath(storage, file.hash));
    await rm(part, { force: true });
  }
  const name = file.hash.length === 64 ? "SHA-256" : "Git SHA-1";
  throw new DataError(
    `what came has another ${name} than the Hub lists (${file.hash}); it was removed: pull again, or name another mirror in HF_ENDPOINT`,
    { file: url },
  );
}

interface Outcome {
  readonly isRight: boolean;
  /** Bytes that were there before. */
  readonly resumedAt: number;
}

async function receive(connection: HubConnection, { file, url, onBytes }: BlobDownload, part: string): Promise<Outcome> {
  const handle = await open(part, constants.O_RDWR | constants.O_CREAT);
  try {
    const state = await BlobPart.of(handle, part, file, onBytes);
    const resumedAt = state.bytes;
    let before = state.bytes;
    await withRetries(
      connection,
      async () => {
        before = state.bytes;
        if (state.bytes < file.size) await receiveRest(connection, url, file, state);
      },
      () => state.bytes - before >= progressBytes,
    );
    await handle.sync();
    return { isRight: state.isRight(), resumedAt };
  } finally {
    await handle.close();
  }
}

/** One request for the bytes that are missing. */
async function receiveRest(connection: HubConnection, url: string, file: RepositoryFile, state: BlobPart): Promise<void> {
  const { controller, unlink } = linkedAbort([connection.signal]);
  const stall = setTimeout(() => controller.abort(), stallSeconds * 1000);
  try {
    const range: Record<string, string> = state.bytes > 0 ? { range: `bytes=${state.bytes}-` } : {};
    const response = await requestOnce(connection, url, {
      headers: { "accept-encoding": "identity", ...range },
      signal: controller.signal,
    });
    const from = /^bytes (\d+)-/.exec(response.headers.get("content-range") ?? "")?.[1];
    if (response.status !== 206) await state.restart();
    else if (Number(from) !== state.bytes)
      throw new HubFailure(`${url}: asked for bytes from ${state.bytes}, got ${from}`, { isTransient: false });
    const body = response.body?.getReader();
    for (let read = await body?.read(); read !== undefined && !read.done; read = await body?.read()) {
      stall.refresh();
      connection.signal.throwIfAborted();
      await state.append(read.value);
      if (state.bytes > file.size) return;
    }
  } catch (error) {
    connection.signal.throwIfAborted();
    if (controller.signal.aborted) throw connectionFailure(new Error(`no byte for ${stallSeconds} s`), connection.settings);
    if (error instanceof HubFailure || isFileProblem(error)) throw error;
    throw connectionFailure(error, connection.settings);
  } finally {
    clearTimeout(stall);
    unlink();
    // Whatever ended the reading early, a full disk for one, also ends the request.
    controller.abort();
  }
  if (state.bytes < file.size)
    throw connectionFailure(new Error(`it ended after ${state.bytes} of ${file.size} bytes`), connection.settings);
}

function isFileProblem(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).syscall === "write" || (error as NodeJS.ErrnoException).syscall === "ftruncate";
}
