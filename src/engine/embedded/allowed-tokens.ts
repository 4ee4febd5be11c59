import { type GrammarCursor, GrammarRows } from "./grammar-replay.ts";

/** The tokens that a grammar allows next, as whichever list is shorter. */
export interface AllowedTokens {
  /** Ascending; absent when `forbidden` is given. */
  readonly allowed?: Int32Array;
  readonly forbidden?: Int32Array;
}

/** Allowed tokens by the cursor's `allowedRow`, made once each. */
export class AllowedTokenLists {
  private readonly rows: GrammarRows;
  private readonly lists = new Map<string, AllowedTokens>();

  constructor(
    vocabularySize: number,
    private readonly limit = 4096,
  ) {
    this.rows = new GrammarRows(vocabularySize, 1);
  }

  at(cursor: GrammarCursor): AllowedTokens {
    const key = cursor.allowedRow();
    let list = this.lists.get(key);
    if (list === undefined) {
      const row = this.rows.row(cursor);
      const allowed: number[] = [];
      const forbidden: number[] = [];
      for (let token = 0; token < row.length; token++) (row[token] === 0 ? allowed : forbidden).push(token);
      list = allowed.length <= forbidden.length ? { allowed: Int32Array.from(allowed) } : { forbidden: Int32Array.from(forbidden) };
      if (this.lists.size >= this.limit) this.lists.clear();
      this.lists.set(key, list);
    }
    return list;
  }
}
