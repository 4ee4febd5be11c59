/**
 * A word's postings on the disk: blocks of 128 (the last may have fewer). A block is four varints (how far its last row lies beyond the block
 * before, bytes that follow, highest frequency, least words of a row), then per posting the distance to the row before, doubled, plus one
 * if the frequency is 1, and otherwise the frequency less two as another varint. Frequencies and lengths bound a block's scores whatever k1
 * and b are.
 */
import { ByteBuffer, ByteReader } from "./bm25-bytes.ts";
import { blockPostings } from "./bm25-files.ts";

/** Encodes one list after the other. Rows of a list must rise. */
export class PostingsEncoder {
  private readonly block = new ByteBuffer();
  private count = 0;
  private inBlock = 0;
  private row = -1;
  private blockBefore = -1;
  private highest = 0;
  private shortest = 0;

  constructor(private readonly target: ByteBuffer) {}

  add(row: number, frequency: number, length: number): void {
    const double = 2 * (row - this.row);
    this.block.varint(frequency === 1 ? double + 1 : double);
    if (frequency > 1) this.block.varint(frequency - 2);
    this.row = row;
    this.highest = Math.max(this.highest, frequency);
    this.shortest = this.inBlock === 0 ? length : Math.min(this.shortest, length);
    this.count++;
    if (++this.inBlock === blockPostings) this.endBlock();
  }

  /** Ends the list; gives its number of postings. */
  end(): number {
    if (this.inBlock > 0) this.endBlock();
    const { count } = this;
    this.count = 0;
    this.row = -1;
    this.blockBefore = -1;
    return count;
  }

  private endBlock(): void {
    const { target, block } = this;
    target.varint(this.row - this.blockBefore);
    target.varint(block.length);
    target.varint(this.highest);
    target.varint(this.shortest);
    target.bytes(block.view());
    block.clear();
    this.blockBefore = this.row;
    this.inBlock = 0;
    this.highest = 0;
  }
}

/** What decides the scores of all lists of an index. */
export interface PostingScale {
  readonly k1: number;
  /** k1 * (1 - b + b * words / mean words), by the number of words of a row. */
  readonly norms: Float64Array;
  readonly rows: number;
  /** Words of each row. */
  readonly lengths: Uint32Array;
}

/**
 * The norms of an index whose longest row has `longest` words.
 * @throws RangeError for constants with which a score would not grow with the frequency and fall with the length: bounds would be none.
 */
export function normsOf({ k1, b }: { readonly k1: number; readonly b: number }, meanLength: number, longest: number): Float64Array {
  if (!(k1 >= 0 && Number.isFinite(k1))) throw new RangeError(`BM25: expected k1 to be 0 or more, got ${k1}`);
  if (!(b >= 0 && b <= 1)) throw new RangeError(`BM25: expected b to be from 0 to 1, got ${b}`);
  return Float64Array.from({ length: longest + 1 }, (_, words) => k1 * (1 - b + (b * words) / meanLength));
}

/** A list with its blocks laid open, the postings in them still encoded. */
export class PostingList {
  /** By block: its last row, where its postings begin, and a bound of what they add to a score. */
  readonly lastRows: Uint32Array;
  readonly bounds: Float64Array;
  private readonly starts: Uint32Array;
  private readonly idf: number;

  /** @throws RangeError when the bytes are no list of so many postings. */
  constructor(
    private readonly bytes: Buffer,
    readonly count: number,
    private readonly scale: PostingScale,
  ) {
    this.idf = Math.log(1 + (scale.rows - count + 0.5) / (count + 0.5));
    const blocks = Math.ceil(count / blockPostings);
    this.lastRows = new Uint32Array(blocks);
    this.bounds = new Float64Array(blocks);
    this.starts = new Uint32Array(blocks);
    const reader = new ByteReader(bytes);
    let row = -1;
    for (let block = 0; block < blocks; block++) {
      row += reader.varint();
      const length = reader.varint();
      this.lastRows[block] = row;
      this.bounds[block] = this.part(reader.varint(), reader.varint());
      this.starts[block] = reader.position;
      reader.position += length;
    }
    if (reader.position !== bytes.length) throw new RangeError(`${bytes.length} bytes are no list of ${count} postings`);
  }

  /** What a posting adds to the score of its row. */
  score(frequency: number, row: number): number {
    return this.part(frequency, this.scale.lengths[row] as number);
  }

  /** Written as `Bm25Index` does it, so that the bits agree. */
  private part(frequency: number, words: number): number {
    const { k1, norms } = this.scale;
    return (this.idf * frequency * (k1 + 1)) / (frequency + (norms[words] as number));
  }

  /** Memory held, about. */
  get size(): number {
    return this.bytes.length + 16 * this.lastRows.length + 200;
  }

  /** The first block from `from` on that may hold rows from `row` on; the number of blocks where there is none. */
  blockAt(row: number, from: number): number {
    const { lastRows } = this;
    let [low, high] = [from, lastRows.length];
    // Mostly the next few: look there before halving the rest.
    for (let step = 1; low < high && (lastRows[low] as number) < row; step *= 2) {
      low++;
      const ahead = low + step;
      if (ahead < high && (lastRows[ahead] as number) < row) low = ahead;
      else high = Math.min(high, ahead + 1);
    }
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((lastRows[middle] as number) < row) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Decodes a block into the two arrays, of at least 128 entries each; gives its number of postings. */
  decode(block: number, rows: Uint32Array, frequencies: Uint32Array): number {
    const { bytes } = this;
    const count = Math.min(blockPostings, this.count - block * blockPostings);
    let row = block === 0 ? -1 : (this.lastRows[block - 1] as number);
    let position = this.starts[block] as number;
    for (let index = 0; index < count; index++) {
      let byte = bytes[position++] as number;
      let code = byte & 127;
      for (let shift = 7; byte >= 128; shift += 7) {
        byte = bytes[position++] as number;
        code |= (byte & 127) << shift;
      }
      row += code >>> 1;
      rows[index] = row;
      if ((code & 1) === 1) {
        frequencies[index] = 1;
        continue;
      }
      byte = bytes[position++] as number;
      let frequency = byte & 127;
      for (let shift = 7; byte >= 128; shift += 7) {
        byte = bytes[position++] as number;
        frequency |= (byte & 127) << shift;
      }
      frequencies[index] = frequency + 2;
    }
    return count;
  }
}
