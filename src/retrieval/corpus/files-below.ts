import { readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { holdsIndex } from "../indexing/index-folder.ts";

const naturally = new Intl.Collator("en", { numeric: true });

/** Every file below a folder in natural name order; hidden ones, node_modules and index folders left out. */
export async function* filesBelow(folder: string, visited = new Set<string>()): AsyncGenerator<string> {
  const real = await realpath(folder);
  // A folder that a link has led to before: following it could go round for ever.
  if (visited.has(real)) return;
  visited.add(real);
  if (await holdsIndex(folder)) return;
  const names = (await readdir(folder)).filter((name) => !name.startsWith(".") && name !== "node_modules");
  names.sort((one, other) => naturally.compare(one, other) || (one < other ? -1 : 1));
  for (const name of names) {
    const path = join(folder, name);
    const isFolder = await stat(path).then(
      (info) => info.isDirectory(),
      () => false,
    );
    if (isFolder) yield* filesBelow(path, visited);
    else yield path;
  }
}
