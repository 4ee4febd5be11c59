/** Follows a TokenGrammar over an output, for the sampler (token by token) and the trainer (replaying what was sampled). */
import type { GrammarState, TokenGrammar } from "../engine.ts";

/** Added to the logits of forbidden tokens: their probability is exactly 0 and everything stays finite. */
export const maskedLogit = -1e9;

/** Where an output stands in its grammar. */
export class GrammarCursor {
  private state: number;
  /** Tokens taken in `distinct` states, sorted. */
  private used: readonly number[] = [];
  private readonly reserved: ReadonlySet<number>;

  constructor(readonly grammar: TokenGrammar) {
    this.state = grammar.start;
    this.reserved = reservedTokens(grammar);
  }

  private get current(): GrammarState {
    const state = this.grammar.states[this.state];
    if (state === undefined)
      throw new RangeError(`grammar ${this.grammar.id} has no state ${this.state}: it has ${this.grammar.states.length}`);
    return state;
  }

  /** Equal keys, equal sets of allowed tokens. */
  allowedRow(): string {
    const used = this.current.distinct ? this.used.join() : "";
    return `${this.grammar.id}\u0000${this.state}\u0000${used}`;
  }

  private next(token: number): number | undefined {
    const state = this.current;
    const named = state.onToken.find(([candidate]) => candidate === token);
    if (named === undefined) return this.reserved.has(token) ? undefined : state.onText;
    return state.distinct && this.used.includes(token) ? undefined : named[1];
  }

  /** Whether `token` may come next. */
  allows(token: number): boolean {
    return this.next(token) !== undefined;
  }

  /** Takes a token. @throws RangeError when the grammar forbids it here. */
  advance(token: number): void {
    const next = this.next(token);
    if (next === undefined) throw new RangeError(`grammar ${this.grammar.id} forbids token ${token} in state ${this.state}`);
    const { distinct, onToken } = this.current;
    if (distinct && onToken.some(([candidate]) => candidate === token)) this.used = [...this.used, token].sort((a, b) => a - b);
    this.state = next;
  }

  /** Writes 0 for every allowed token and `maskedLogit` for the others; `bias` has one entry a token of the vocabulary. */
  writeBias(bias: Float32Array): void {
    const state = this.current;
    bias.fill(state.onText === undefined ? maskedLogit : 0);
    for (const token of this.reserved) bias[token] = maskedLogit;
    for (const [token] of state.onToken) bias[token] = this.allows(token) ? 0 : maskedLogit;
  }
}

/** Bias rows by `allowedRow`, made once each. At most `limit` rows are kept. */
export class GrammarRows {
  private readonly rows = new Map<string, Float32Array>();

  constructor(
    private readonly vocabularySize: number,
    private readonly limit = 4096,
  ) {}

  /** The bias row [vocabularySize] of the tokens allowed at the cursor; shared, not to be written to. */
  row(cursor: GrammarCursor): Float32Array {
    const key = cursor.allowedRow();
    let row = this.rows.get(key);
    if (row === undefined) {
      row = new Float32Array(this.vocabularySize);
      cursor.writeBias(row);
      if (this.rows.size >= this.limit) this.rows.clear();
      this.rows.set(key, row);
    }
    return row;
  }
}

const reservedSets = new WeakMap<TokenGrammar, ReadonlySet<number>>();

function reservedTokens(grammar: TokenGrammar): ReadonlySet<number> {
  let set = reservedSets.get(grammar);
  if (set === undefined) {
    set = new Set(grammar.reservedTokenIds);
    reservedSets.set(grammar, set);
  }
  return set;
}
