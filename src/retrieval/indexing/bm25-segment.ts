import { ByteFile, FileWindow } from "./bm25-bytes.ts";

/** Longest word that the engine copies out of the text it was found in; a longer one would keep that whole text in memory. */
const copiedUnits = 12;

/** The postings of as many texts as fit in memory, in the order of texts. */
export class Bm25Segment {
  private readonly numbers = new Map<string, number>();
  /** By word number: its last posting, and how many it has. */
  private readonly latest: number[] = [];
  private readonly counts: number[] = [];
  /** By posting. */
  private readonly words: Uint32Array;
  private readonly rows: Uint32Array;
  private readonly frequencies: Uint32Array;
  private postings = 0;

  /** @param capacity postings it holds; a text that doesn't fit is refused. */
  constructor(private readonly capacity: number) {
    [this.words, this.rows, this.frequencies] = [new Uint32Array(capacity), new Uint32Array(capacity), new Uint32Array(capacity)];
  }

  /** Whether another text of so many words is sure to fit. */
  fits(words: number): boolean {
    return this.postings + words <= this.capacity;
  }

  get empty(): boolean {
    return this.postings === 0;
  }

  add(row: number, words: readonly string[]): void {
    for (const word of words) {
      const number = this.numbers.get(word) ?? this.newWord(word);
      const last = this.latest[number] as number;
      if (last >= 0 && this.rows[last] === row) {
        this.frequencies[last] = (this.frequencies[last] as number) + 1;
        continue;
      }
      this.words[this.postings] = number;
      this.rows[this.postings] = row;
      this.frequencies[this.postings] = 1;
      this.latest[number] = this.postings++;
      this.counts[number] = (this.counts[number] as number) + 1;
    }
  }

  /** Writes the words in order, each with its number of postings and, for each, the distance to the row before and the frequency; empties the segment. */
  flush(path: string): void {
    const sorted = [...this.numbers].sort(([left], [right]) => (left < right ? -1 : 1));
    const order = this.byWord();
    const ends = order.ends;
    const file = new ByteFile(path);
    try {
      for (const [word, number] of sorted) {
        file.word(word);
        const end = ends[number] as number;
        file.varint(this.counts[number] as number);
        let before = 0;
        for (let place = end - (this.counts[number] as number); place < end; place++) {
          const posting = order.postings[place] as number;
          const row = this.rows[posting] as number;
          file.varint(row - before);
          file.varint(this.frequencies[posting] as number);
          before = row;
        }
        file.drain();
      }
      file.drain(1);
    } finally {
      file.close();
    }
    this.numbers.clear();
    this.latest.length = 0;
    this.counts.length = 0;
    this.postings = 0;
  }

  private newWord(word: string): number {
    const number = this.numbers.size;
    this.numbers.set(word.length > copiedUnits ? Buffer.from(word).toString() : word, number);
    this.latest.push(-1);
    this.counts.push(0);
    return number;
  }

  /** Postings sorted by word number, rows in order within a word; `ends`: by word number. */
  private byWord(): { readonly postings: Uint32Array; readonly ends: Uint32Array } {
    const ends = new Uint32Array(this.counts.length);
    let start = 0;
    this.counts.forEach((count, number) => {
      ends[number] = start;
      start += count;
    });
    const postings = new Uint32Array(this.postings);
    for (let posting = 0; posting < this.postings; posting++) {
      const number = this.words[posting] as number;
      postings[ends[number] as number] = posting;
      ends[number] = (ends[number] as number) + 1;
    }
    return { postings, ends };
  }
}

/** Reads a flushed segment word by word. */
export class SegmentReader {
  /** The current word; undefined at the end. */
  word: string | undefined;
  private readonly window: FileWindow;

  constructor(path: string) {
    this.window = new FileWindow(path);
    this.advance();
  }

  /** Hands over the current word's postings and goes on to the next word. */
  take(each: (row: number, frequency: number) => void): void {
    const count = this.window.ahead(5).varint();
    let row = 0;
    for (let done = 0; done < count; ) {
      // Two varints take ten bytes at most.
      const batch = Math.min(count - done, 4096);
      const reader = this.window.ahead(batch * 10);
      for (let index = 0; index < batch; index++) {
        row += reader.varint();
        each(row, reader.varint());
      }
      done += batch;
    }
    this.advance();
  }

  close(): void {
    this.window.close();
  }

  private advance(): void {
    const reader = this.window.ahead(5);
    if (reader.position >= reader.bytes.length) {
      this.word = undefined;
      return;
    }
    const start = reader.position;
    const length = reader.varint();
    reader.position = start;
    this.word = this.window.ahead(5 + length).word();
  }
}
