import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { DataError } from "../../errors.ts";
import { corpusPaths } from "../corpus/corpus.ts";
import { corpusFiles } from "../corpus/corpus-files.ts";
import type { CorpusFormat } from "../corpus/corpus-stream.ts";

/** A corpus as it stood when a build began: enough to notice that it changed. */
export interface CorpusSource {
  /** Base name of the file or folder. */
  readonly name: string;
  /** On the disk; of a folder, of the files in it that are read. */
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

/** @throws DataError naming a path that can't be read, or as `corpusFiles` does. */
export async function corpusSources(paths: readonly string[], format: CorpusFormat = "auto"): Promise<CorpusSource[]> {
  return Promise.all(
    paths.map(async (path) => {
      try {
        return { name: basename(path), ...(await measured(path, format)) };
      } catch (error) {
        if (error instanceof DataError) throw error;
        const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
        throw new DataError(`can't be read (${reason}): check the path`, { file: path }, { cause: error });
      }
    }),
  );
}

/** Of a folder only the files that are read count: others, an index among them, may change. */
async function measured(path: string, format: CorpusFormat): Promise<{ bytes: number; modified: number }> {
  const about = await stat(path);
  if (!about.isDirectory()) return { bytes: about.size, modified: Math.round(about.mtimeMs) };
  const files = await corpusFiles([path], format);
  return {
    bytes: files.reduce((sum, { size }) => sum + size, 0),
    modified: files.reduce((latest, { modified }) => Math.max(latest, modified), 0),
  };
}
