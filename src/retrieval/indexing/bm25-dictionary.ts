import { type FileHandle, readFile } from "node:fs/promises";
import { DataError } from "../../errors.ts";
import { ByteReader } from "./bm25-bytes.ts";
import { wordsPerEntry } from "./bm25-files.ts";

/** Where a word's list lies in postings.bin. */
export interface WordEntry {
  readonly count: number;
  readonly start: number;
  readonly bytes: number;
}

/** The words of an index; every 64th is in memory. */
export class Bm25Dictionary {
  private constructor(
    private readonly words: FileHandle,
    private readonly first: readonly string[],
    /** By entry: where it begins in words.bin, where its first list begins; one more at the end. */
    private readonly starts: Float64Array,
    private readonly listStarts: Float64Array,
  ) {}

  /** @param bytes of words.bin. @throws DataError naming the file when it is damaged. */
  static async open(sparseFile: string, words: FileHandle, bytes: number): Promise<Bm25Dictionary> {
    const reader = new ByteReader(await readFile(sparseFile));
    const first: string[] = [];
    const starts: number[] = [];
    const listStarts: number[] = [];
    try {
      while (reader.position < reader.bytes.length) {
        first.push(reader.word());
        starts.push(reader.double());
        listStarts.push(reader.double());
      }
    } catch (error) {
      throw new DataError(
        `is damaged at byte ${reader.position}: restore it, or build the index again`,
        { file: sparseFile },
        { cause: error },
      );
    }
    starts.push(bytes);
    return new Bm25Dictionary(words, first, Float64Array.from(starts), Float64Array.from(listStarts));
  }

  async find(word: string): Promise<WordEntry | undefined> {
    const entry = this.entryOf(word);
    if (entry < 0) return undefined;
    const from = this.starts[entry] as number;
    const buffer = Buffer.alloc((this.starts[entry + 1] as number) - from);
    await this.words.read(buffer, 0, buffer.length, from);
    const reader = new ByteReader(buffer);
    let start = this.listStarts[entry] as number;
    for (let index = 0; index < wordsPerEntry && reader.position < buffer.length; index++) {
      const found = reader.word();
      const [count, bytes] = [reader.varint(), reader.varint()];
      if (found === word) return { count, start, bytes };
      start += bytes;
    }
    return undefined;
  }

  /** The last entry that doesn't come after the word; -1 where all do. */
  private entryOf(word: string): number {
    let [low, high] = [-1, this.first.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.first[middle] as string) <= word) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
