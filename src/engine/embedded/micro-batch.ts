/** Turns a plan into the arrays that one run of the graphs takes. */
import type { ScoredSequence } from "../engine.ts";
import { GrammarCursor, type GrammarRows } from "./grammar-replay.ts";
import { type BatchPlan, lengthMultiple, type RowPlan } from "./pack-plan.ts";
import { maskedScore } from "./runtime.ts";

/** A sequence to score, optionally towards other tokens than its own (`targets` of TrainingExample). */
export interface TargetedSequence extends ScoredSequence {
  readonly targets?: readonly number[];
}

/** One trained position: token `position` of sequence `sequence`. */
export interface TrainedToken {
  readonly sequence: number;
  readonly position: number;
}

/** The positions whose hidden states the loss needs. */
export interface SelectedPositions {
  /** R: how many in each row. */
  readonly count: number;
  /** Flat indices [batch * R] into the batch; distinct. */
  readonly rows: BigInt64Array;
  readonly positions: BigInt64Array;
  /** Which rows of the mask (all its matrices one under the other) are theirs. */
  readonly maskRows: BigInt64Array;
}

/** The arrays of one run of the graphs. */
export interface MicroBatch {
  readonly batch: number;
  readonly length: number;
  /** [batch, length], padded with 0. */
  readonly tokens: BigInt64Array;
  readonly positions: BigInt64Array;
  /** [batch, 1, length, length] where rows hold several sequences; undefined: plain causal. */
  readonly mask: Float32Array | undefined;
  /** The trained tokens, in the order of `rows`, `labels` and `maskIndex`. */
  readonly trained: readonly TrainedToken[];
  /** The positions that the last layer computes: all that predict a trained token, filled up to the same number in every row. */
  readonly selected: SelectedPositions;
  /** For each trained token the index, among the selected ones, of the position that predicts it; distinct. */
  readonly rows: BigInt64Array;
  readonly labels: BigInt64Array;
  /** Bias rows of the grammar states that occur, and which one each trained token uses; undefined without a grammar. */
  readonly grammar: { readonly table: Float32Array; readonly tableRows: number; readonly index: BigInt64Array } | undefined;
}

/** Collects the distinct bias rows of a micro-batch. */
class MaskTable {
  private readonly indexOf = new Map<string, number>();
  private readonly rows: Float32Array[] = [];
  readonly index: number[] = [];

  constructor(
    private readonly cache: GrammarRows,
    private readonly vocabularySize: number,
  ) {}

  add(cursor: GrammarCursor | undefined): void {
    const key = cursor?.allowedRow() ?? "";
    let index = this.indexOf.get(key);
    if (index === undefined) {
      index = this.rows.push(cursor ? this.cache.row(cursor) : new Float32Array(this.vocabularySize)) - 1;
      this.indexOf.set(key, index);
    }
    this.index.push(index);
  }

  finish(): MicroBatch["grammar"] {
    const table = new Float32Array(this.rows.length * this.vocabularySize);
    this.rows.forEach((row, index) => {
      table.set(row, index * this.vocabularySize);
    });
    return { table, tableRows: this.rows.length, index: BigInt64Array.from(this.index, BigInt) };
  }
}

/** Each sequence of a packed row sees the shared prompt and itself, causally; padding sees itself. */
function writeRowMask(mask: Float32Array, row: RowPlan): void {
  const length = Math.sqrt(mask.length);
  mask.fill(maskedScore);
  const see = (query: number, from: number, to: number) => mask.fill(0, query * length + from, query * length + to);
  for (let query = 0; query < row.shared; query++) see(query, 0, query + 1);
  let start = row.shared;
  for (const sequence of row.sequences) {
    const end = start + sequence.last - row.shared;
    for (let query = start; query < end; query++) {
      see(query, 0, row.shared);
      see(query, start, query + 1);
    }
    start = end;
  }
  for (let query = start; query < length; query++) see(query, query, query + 1);
}

/**
 * Selects the needed offsets of every row (in their order), and behind them others of the same row, so that all rows select
 * equally many and none twice.
 */
function selectPositions(
  needed: readonly (readonly number[])[],
  length: number,
  positions: BigInt64Array,
  packed: boolean,
): SelectedPositions {
  const most = needed.reduce((largest, offsets) => Math.max(largest, offsets.length), 1);
  const count = Math.min(length, Math.ceil(most / lengthMultiple) * lengthMultiple);
  const rows: number[] = [];
  needed.forEach((offsets, row) => {
    const taken = new Set(offsets);
    const chosen = [...offsets];
    for (let offset = 0; chosen.length < count; offset++) if (!taken.has(offset)) chosen.push(offset);
    for (const offset of chosen) rows.push(row * length + offset);
  });
  return {
    count,
    rows: BigInt64Array.from(rows, BigInt),
    positions: BigInt64Array.from(rows, (row) => positions[row] as bigint),
    maskRows: BigInt64Array.from(rows, (row) => BigInt(packed ? row : row % length)),
  };
}

/** @throws RangeError naming the sequence and position where the grammar forbids a token. */
export function microBatch(
  plan: BatchPlan,
  sequences: readonly TargetedSequence[],
  vocabularySize: number,
  grammarRows: GrammarRows,
): MicroBatch {
  const { length } = plan;
  const batch = plan.rows.length;
  const tokens = new BigInt64Array(batch * length);
  const positions = new BigInt64Array(batch * length);
  const mask = plan.packed ? new Float32Array(batch * length * length) : undefined;
  const trained: TrainedToken[] = [];
  const needed: number[][] = plan.rows.map(() => []);
  const labels: number[] = [];
  const masks = plan.rows.some((row) => row.sequences.some(({ index }) => sequences[index]?.grammar))
    ? new MaskTable(grammarRows, vocabularySize)
    : undefined;

  const put = (at: number, sequence: TargetedSequence, position: number) => {
    tokens[at] = BigInt(sequence.tokenIds[position] as number);
    positions[at] = BigInt(position);
  };
  plan.rows.forEach((row, rowIndex) => {
    const base = rowIndex * length;
    if (mask) writeRowMask(mask.subarray(base * length, (base + length) * length), row);
    const firstSequence = sequences[row.sequences[0]?.index as number] as TargetedSequence;
    for (let position = 0; position < row.shared; position++) put(base + position, firstSequence, position);
    let start = base + row.shared;
    for (const { index, last } of row.sequences) {
      const sequence = sequences[index] as TargetedSequence;
      for (let position = row.shared; position < last; position++) put(start + position - row.shared, sequence, position);
      replay(sequence, index, (position, label, cursor) => {
        trained.push({ sequence: index, position });
        needed[rowIndex]?.push(start + position - 1 - row.shared - base);
        labels.push(label);
        masks?.add(cursor);
      });
      start += last - row.shared;
    }
  });
  const selected = selectPositions(needed, length, positions, plan.packed);
  return {
    batch,
    length,
    tokens,
    positions,
    mask,
    trained,
    selected,
    rows: BigInt64Array.from(needed.flatMap((offsets, row) => offsets.map((_, index) => BigInt(row * selected.count + index)))),
    labels: BigInt64Array.from(labels, BigInt),
    grammar: masks?.finish(),
  };
}

/** Visits the trained positions of a sequence with the token to predict and the grammar's cursor before it. */
function replay(
  sequence: TargetedSequence,
  index: number,
  visit: (position: number, label: number, cursor: GrammarCursor | undefined) => void,
): void {
  const { tokenIds, mask, grammar, targets } = sequence;
  let cursor: GrammarCursor | undefined;
  for (let position = 1; position < tokenIds.length; position++) {
    if (mask[position] !== 1) continue;
    if (grammar && mask[position - 1] !== 1) cursor = new GrammarCursor(grammar);
    const token = tokenIds[position] as number;
    const target = targets?.[position] ?? -1;
    const label = target >= 0 ? target : token;
    if (cursor && !(cursor.allows(token) && cursor.allows(label))) {
      const wrong = cursor.allows(token) ? label : token;
      throw new RangeError(
        `sequence ${index}, position ${position}: grammar ${cursor.grammar.id} forbids token ${wrong} here; score it without a grammar`,
      );
    }
    visit(position, label, cursor);
    cursor?.advance(token);
  }
}
