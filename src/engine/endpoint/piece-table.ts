/** Ids of pieces of text, for servers whose tokens aren't seen. */

/** Ids below this are markers, which no text yields. */
const firstUnit = 16;
/** A UTF-16 code unit is its own piece: any text can be spelled, whether the table is full or not. */
const firstPiece = firstUnit + 65_536;

/** About the length of a token: beginnings and parts of words with the space before them, single digits, runs of punctuation and of white space, single signs of CJK. */
const piecePattern =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]| ?[\p{L}\p{M}]{1,6}| ?\p{N}| ?[\p{P}\p{S}]{1,4}|\s{1,8}|[\s\S]/gu;
const singleSign = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;

/** A growing table of pieces; ids are handed out on first sight and stay what they are. */
export class PieceTable {
  /** Ids are below this, however many pieces there are. */
  readonly size: number;
  private readonly pieces: string[] = [];
  private readonly ids = new Map<string, number>();

  /** @param mostPieces Pieces beyond it are spelled by code units: texts get longer in ids, not wrong. The default takes about 30 MB at most. */
  constructor(private readonly mostPieces = 262_144) {
    this.size = firstPiece + mostPieces;
  }

  /** Ids whose pieces, joined, are exactly the text. */
  encode(text: string): number[] {
    const ids: number[] = [];
    for (const run of text.match(piecePattern) ?? []) {
      // A run of letters may change script in its middle.
      const parts = run.length > 1 && singleSign.test(run) ? [...run] : [run];
      for (const piece of parts) this.put(piece, ids);
    }
    return ids;
  }

  /** The text of an id; undefined for markers and ids never handed out. */
  textOf(id: number): string | undefined {
    if (id >= firstPiece) return this.pieces[id - firstPiece];
    return id >= firstUnit ? String.fromCharCode(id - firstUnit) : undefined;
  }

  private put(piece: string, ids: number[]): void {
    const known = piece.length > 1 ? (this.ids.get(piece) ?? this.add(piece)) : undefined;
    if (known !== undefined) ids.push(known);
    else for (let index = 0; index < piece.length; index++) ids.push(firstUnit + piece.charCodeAt(index));
  }

  private add(piece: string): number | undefined {
    if (this.pieces.length >= this.mostPieces) return undefined;
    const id = firstPiece + this.pieces.push(piece) - 1;
    this.ids.set(piece, id);
    return id;
  }
}
