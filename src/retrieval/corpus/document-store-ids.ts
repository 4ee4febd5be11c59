import { hash32 } from "../../rng.ts";

/** Slots that are filled at most, as a share, before the table grows. */
const mostFilled = 0.75;

/**
 * Which rows may hold an id: a hash table of 32-bit hashes and rows in typed arrays, 11 to 21 bytes an id where a `Map` of strings takes over a
 * hundred. Different ids can share a hash, so the caller compares the ids of the rows that it names.
 */
export class RowsById {
  private hashes: Uint32Array;
  /** Row + 1; 0 is a free slot. */
  private rows: Uint32Array;
  private filled = 0;

  /** @param hash a parameter so that tests can make ids collide. */
  constructor(
    private readonly hash: (id: string) => number = hash32,
    slots = 1024,
  ) {
    this.hashes = new Uint32Array(slots);
    this.rows = new Uint32Array(slots);
  }

  /** Bytes held. */
  get bytes(): number {
    return this.hashes.byteLength + this.rows.byteLength;
  }

  add(id: string, row: number): void {
    if (this.filled + 1 > this.rows.length * mostFilled) this.grow();
    this.place(this.hash(id), row + 1);
    this.filled++;
  }

  /** Every row whose id has the hash of this one. */
  *candidates(id: string): Generator<number> {
    const hash = this.hash(id);
    const mask = this.rows.length - 1;
    for (let slot = hash & mask; this.rows[slot] !== 0; slot = (slot + 1) & mask) {
      if (this.hashes[slot] === hash) yield (this.rows[slot] as number) - 1;
    }
  }

  private place(hash: number, entry: number): void {
    const mask = this.rows.length - 1;
    let slot = hash & mask;
    while (this.rows[slot] !== 0) slot = (slot + 1) & mask;
    this.hashes[slot] = hash;
    this.rows[slot] = entry;
  }

  private grow(): void {
    const { hashes, rows } = this;
    this.hashes = new Uint32Array(hashes.length * 2);
    this.rows = new Uint32Array(rows.length * 2);
    for (let slot = 0; slot < rows.length; slot++) {
      if (rows[slot] !== 0) this.place(hashes[slot] as number, rows[slot] as number);
    }
  }
}
