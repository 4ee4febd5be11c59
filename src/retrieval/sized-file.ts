import { type FileHandle, open } from "node:fs/promises";
import { DataError } from "../errors.ts";

/** @throws DataError naming the file when it can't be opened or has another size than it was written with. */
export async function openSized(file: string, bytes: number): Promise<FileHandle> {
  const handle = await open(file, "r").catch((error: NodeJS.ErrnoException) => {
    throw new DataError(`can't be read (${error.code}): restore it, or build the index again`, { file }, { cause: error });
  });
  const { size } = await handle.stat();
  if (size === bytes) return handle;
  await handle.close();
  throw new DataError(`has ${size} bytes, it was written with ${bytes}: restore it, or build the index again`, { file });
}
