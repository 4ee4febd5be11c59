import type { FileHandle } from "node:fs/promises";
import { DataError } from "../../errors.ts";
import type { Bm25Dictionary } from "./bm25-dictionary.ts";
import { PostingList, type PostingScale } from "./bm25-postings.ts";

/** Memory that lists may take before those searched longest ago are given up. */
const mostBytes = 256 * 2 ** 20;

/** The lists of words, read when they are first asked for. */
export class Bm25Lists {
  private readonly lists = new Map<string, Promise<PostingList | undefined>>();
  private bytes = 0;

  constructor(
    private readonly postings: FileHandle,
    private readonly file: string,
    private readonly dictionary: Bm25Dictionary,
    private readonly scale: PostingScale,
    private readonly most = mostBytes,
  ) {}

  /** The list of a word; undefined where no text has it. @throws DataError naming the file when it is damaged. */
  async get(word: string): Promise<PostingList | undefined> {
    const known = this.lists.get(word);
    if (known !== undefined) {
      // Behind all others: the first are given up first.
      this.lists.delete(word);
      this.lists.set(word, known);
      return known;
    }
    const reading = this.read(word);
    this.lists.set(word, reading);
    try {
      const list = await reading;
      if (list === undefined) this.lists.delete(word);
      else await this.account(list);
      return list;
    } catch (error) {
      this.lists.delete(word);
      throw error;
    }
  }

  private async account(list: PostingList): Promise<void> {
    this.bytes += list.size;
    for (const [word, reading] of this.lists) {
      if (this.bytes <= this.most) return;
      this.lists.delete(word);
      // One that can't be read is told to whoever asked for it.
      this.bytes -= (await reading.catch(() => undefined))?.size ?? 0;
    }
  }

  private async read(word: string): Promise<PostingList | undefined> {
    const entry = await this.dictionary.find(word);
    if (entry === undefined) return undefined;
    const bytes = Buffer.allocUnsafe(entry.bytes);
    const { bytesRead } = await this.postings.read(bytes, 0, bytes.length, entry.start);
    try {
      if (bytesRead !== bytes.length) throw new RangeError(`${bytesRead} bytes of ${bytes.length}`);
      return new PostingList(bytes, entry.count, this.scale);
    } catch (error) {
      const reason = (error as Error).message;
      const message = `is damaged at byte ${entry.start} (${reason}): restore it, or build the index again`;
      throw new DataError(message, { file: this.file }, { cause: error });
    }
  }
}
