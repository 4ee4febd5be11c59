/** BM25 from the disk: an inverted index of its own that is built and searched in bounded memory and scores exactly as `Bm25Index` does. */
import { type FileHandle, mkdir, rename, rm } from "node:fs/promises";
import { DataError } from "../../errors.ts";
import { readIfPresent } from "../../files/atomic-file.ts";
import { openSized } from "../sized-file.ts";
import { bm25Words } from "../words.ts";
import { type Bm25BuildOptions, fillBm25, readLengths } from "./bm25-build.ts";
import { Bm25Cursor } from "./bm25-cursor.ts";
import { Bm25Dictionary } from "./bm25-dictionary.ts";
import { bm25Files, bm25Schema, type StoredBm25About } from "./bm25-files.ts";
import type { Bm25Options } from "./bm25-index.ts";
import { Bm25Lists } from "./bm25-lists.ts";
import { normsOf } from "./bm25-postings.ts";
import { searchPostings } from "./bm25-search.ts";
import type { Hit, TextIndex } from "./vector-index.ts";

export { analyserVersion } from "../words.ts";
export type { Bm25BuildOptions, Bm25Progress } from "./bm25-build.ts";

/**
 * Builds an index of texts, one a row, in their order; the same texts give the same bytes. The folder appears when it is complete; what an
 * earlier attempt left, or the folder held, is gone.
 * @throws RunFolderError when the disk refuses; what `texts` throws.
 */
export async function buildStoredBm25(folder: string, texts: AsyncIterable<string>, options: Bm25BuildOptions = {}): Promise<void> {
  const partial = `${folder}.partial`;
  await rm(partial, { recursive: true, force: true });
  await mkdir(partial, { recursive: true });
  try {
    await fillBm25(partial, texts, options);
    await rm(folder, { recursive: true, force: true });
    await rename(partial, folder);
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw error;
  }
}

/**
 * Opens what `buildStoredBm25` built. Words per row and every 64th word of the dictionary are kept in memory, and the lists searched last.
 * @throws DataError naming the file that is missing, of another size or another version; RangeError for constants out of range.
 */
export async function openStoredBm25(folder: string, { k1 = 0.9, b = 0.4 }: Bm25Options = {}): Promise<TextIndex> {
  const files = bm25Files(folder);
  const about = await readAbout(files.about);
  const handles: FileHandle[] = [];
  try {
    for (const part of ["postings", "words", "sparse", "lengths"] as const) handles.push(await openSized(files[part], about.bytes[part]));
    const [postings, words] = handles as [FileHandle, FileHandle];
    const dictionary = await Bm25Dictionary.open(files.sparse, words, about.bytes.words);
    const lengths = await readLengths(files.lengths, about.rows);
    const longest = lengths.reduce((most, length) => Math.max(most, length), 0);
    const norms = normsOf({ k1, b }, about.totalLength / Math.max(1, about.rows), longest);
    const scale = { k1, norms, rows: about.rows, lengths };
    return new StoredBm25(about.rows, new Bm25Lists(postings, files.postings, dictionary, scale), handles);
  } catch (error) {
    await Promise.all(handles.map((handle) => handle.close()));
    throw error;
  }
}

class StoredBm25 implements TextIndex {
  constructor(
    readonly rows: number,
    private readonly lists: Bm25Lists,
    private readonly handles: readonly FileHandle[],
  ) {}

  async search(queries: readonly string[], topK: number): Promise<Hit[][]> {
    if (!Number.isInteger(topK) || topK < 1) throw new RangeError(`topK must be a positive integer, got ${topK}`);
    const found: Hit[][] = [];
    for (const query of queries) found.push(await this.searchOne(bm25Words(query), topK));
    return found;
  }

  async close(): Promise<void> {
    await Promise.all(this.handles.map((handle) => handle.close()));
  }

  private async searchOne(words: readonly string[], topK: number): Promise<Hit[]> {
    const times = new Map<string, number>();
    for (const word of words) times.set(word, (times.get(word) ?? 0) + 1);
    const cursors = new Map<string, Bm25Cursor>();
    await Promise.all(
      [...times].map(async ([word, count]) => {
        const list = await this.lists.get(word);
        if (list !== undefined) cursors.set(word, new Bm25Cursor(list, count));
      }),
    );
    const query = words.flatMap((word) => cursors.get(word) ?? []);
    return searchPostings(query, this.rows, topK);
  }
}

async function readAbout(file: string): Promise<StoredBm25About> {
  const text = await readIfPresent(file);
  if (text === undefined) throw new DataError("is missing, so the BM25 index isn't complete: build the index again", { file });
  try {
    return bm25Schema.parse(JSON.parse(text));
  } catch (error) {
    throw new DataError("is damaged or of another version: build the index again", { file }, { cause: error });
  }
}
