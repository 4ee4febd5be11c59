import { mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ModelError } from "../errors.ts";

/**
 * Writes a folder as one act: `fill` writes into a temporary neighbour, whose files are flushed to the disk before it takes
 * the folder's place. A folder that was not there appears whole or not at all. One that is replaced is, between two renames,
 * only there under its name + `.old`: killed in that instant, both versions are still on the disk, whole.
 * @throws ModelError naming the folder when something can't be written (disk full, no permission); nothing is left behind.
 */
export async function replaceFolder(folder: string, fill: (temporary: string) => Promise<void>): Promise<void> {
  const temporary = `${folder}.partial`;
  const retired = `${folder}.old`;
  try {
    await rm(temporary, { recursive: true, force: true });
    await mkdir(temporary, { recursive: true });
    await fill(temporary);
    for (const name of await readdir(temporary)) await flush(join(temporary, name));
    await flush(temporary);
    await rm(retired, { recursive: true, force: true });
    await rename(folder, retired).catch(ignoreMissing);
    await rename(temporary, folder);
    await flush(dirname(folder));
    await rm(retired, { recursive: true, force: true });
  } catch (error) {
    await rm(temporary, { recursive: true, force: true }).catch(() => undefined);
    if (error instanceof ModelError) throw error;
    throw new ModelError(`${folder} can't be written: ${(error as Error).message}`, { cause: error });
  }
}

async function flush(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}
