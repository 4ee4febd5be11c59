import { readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { DataError } from "../../errors.ts";
import { corpusPaths } from "../corpus/corpus.ts";

/** A corpus as it stood when a build began: enough to notice that it changed. */
export interface CorpusSource {
  /** Base name of the file or folder. */
  readonly name: string;
  /** On the disk; of a folder, of all its files. */
  readonly bytes: number;
  /** Latest change, in milliseconds since 1970. */
  readonly modified: number;
}

/**
 * The files and folders of a corpus, those on the Hugging Face Hub pulled first where the cache doesn't hold them.
 * @throws whatever resolving them throws.
 */
export async function localCorpusPaths(config: Parameters<typeof corpusPaths>[0], signal?: AbortSignal): Promise<string[]> {
  const paths = corpusPaths(config);
  if (!paths.some((path) => path.startsWith("hf://"))) return [...paths];
  const { resolveCorpusPath } = await import("../hub/resolve-corpus-path.ts");
  return (await Promise.all(paths.map((path) => resolveCorpusPath(path, signal ? { signal } : {})))).flat();
}

/** @throws DataError naming a path that can't be read. */
export async function corpusSources(paths: readonly string[]): Promise<CorpusSource[]> {
  return Promise.all(
    paths.map(async (path) => {
      try {
        return { name: basename(path), ...(await measured(path)) };
      } catch (error) {
        const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
        throw new DataError(`can't be read (${reason}): check the path`, { file: path }, { cause: error });
      }
    }),
  );
}

async function measured(path: string): Promise<{ bytes: number; modified: number }> {
  const about = await stat(path);
  if (!about.isDirectory()) return { bytes: about.size, modified: Math.round(about.mtimeMs) };
  let bytes = 0;
  let modified = 0;
  for (const name of await readdir(path, { recursive: true })) {
    const file = await stat(join(path, name));
    if (!file.isFile()) continue;
    bytes += file.size;
    modified = Math.max(modified, Math.round(file.mtimeMs));
  }
  return { bytes, modified };
}
