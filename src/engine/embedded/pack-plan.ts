/** Decides which sequences share a row and which rows share a micro-batch: integers only, no tensors. */

/** What of a sequence the loss needs: the tokens fed (those behind the last trained position predict nothing). */
export interface SequencePlan {
  /** Index of the sequence in the caller's list. */
  readonly index: number;
  /** The first trained position. */
  readonly first: number;
  /** The last trained position; tokens [0, last) are fed. */
  readonly last: number;
}

/**
 * One row of a micro-batch: `shared` tokens of prompt once, then each sequence's tokens from position `shared` on. The
 * last prompt token opens every sequence's own part, because it predicts the first trained token: no row of hidden states is
 * needed twice.
 */
export interface RowPlan {
  readonly shared: number;
  readonly sequences: readonly SequencePlan[];
  readonly length: number;
}

/** Rows computed together, padded to `length` tokens each. */
export interface BatchPlan {
  readonly rows: readonly RowPlan[];
  readonly length: number;
  /** Whether some row holds several sequences, so that a mask of its own is needed. */
  readonly packed: boolean;
}

/** Lengths are rounded up to a multiple of this, so that few distinct shapes occur and products stay aligned. */
export const lengthMultiple = 8;

const roundUp = (length: number) => Math.ceil(length / lengthMultiple) * lengthMultiple;

/** The plan of a sequence, or undefined when nothing in it is trained. */
export function planSequence(index: number, mask: readonly number[]): SequencePlan | undefined {
  const first = mask.indexOf(1);
  return first < 0 ? undefined : { index, first, last: mask.lastIndexOf(1) };
}

/** Sequences with the same tokens before their first trained one, in order of first appearance. */
function groupByPrompt(sequences: readonly SequencePlan[], tokens: (index: number) => readonly number[]): SequencePlan[][] {
  const groups = new Map<string, SequencePlan[]>();
  for (const sequence of sequences) {
    const key = tokens(sequence.index).slice(0, sequence.first).join();
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [sequence]);
    else group.push(sequence);
  }
  return [...groups.values()];
}

/** How much goes together. */
export interface PackLimits {
  /** Tokens, padding included, of a micro-batch; a longer row stands alone. */
  readonly maxTokens: number;
  /** Tokens of a row, as long as the model takes them: the rotary kernel refuses longer ones, whatever their positions. */
  readonly maxRow: number;
  /** Whether sequences of the same prompt share a row. */
  readonly pack: boolean;
}

/** Fills rows with the sequences of one prompt, shortest first; a row stays within twice the prompt (or one sequence). */
function packGroup(group: readonly SequencePlan[], { maxTokens, maxRow }: PackLimits): RowPlan[] {
  const shared = (group[0] as SequencePlan).first - 1;
  const own = (sequence: SequencePlan) => sequence.last - shared;
  const limit = Math.min(maxTokens, maxRow, 2 * shared);
  const rows: RowPlan[] = [];
  let open: SequencePlan[] = [];
  let length = shared;
  const close = () => {
    if (open.length > 0) rows.push({ shared, sequences: open, length });
    open = [];
    length = shared;
  };
  for (const sequence of [...group].sort((a, b) => own(a) - own(b) || a.index - b.index)) {
    if (open.length > 0 && length + own(sequence) > limit) close();
    open.push(sequence);
    length += own(sequence);
  }
  close();
  return rows;
}

/** Cuts rows (longest first) into micro-batches of at most `maxTokens` tokens, padding included; a longer row stands alone. */
function cutBatches(rows: readonly RowPlan[], { maxTokens, maxRow }: PackLimits, packed: boolean): BatchPlan[] {
  const sorted = [...rows].sort(
    (a, b) => b.length - a.length || (a.sequences[0] as SequencePlan).index - (b.sequences[0] as SequencePlan).index,
  );
  const batches: BatchPlan[] = [];
  for (let start = 0; start < sorted.length; ) {
    const longest = (sorted[start] as RowPlan).length;
    const length = Math.max(longest, Math.min(maxRow, roundUp(longest)));
    const count = Math.max(1, Math.floor(maxTokens / length));
    batches.push({ rows: sorted.slice(start, start + count), length, packed });
    start += count;
  }
  return batches;
}

/**
 * Plans the micro-batches of a list of sequences. With `pack`, sequences of the same prompt share a row.
 * @param tokens the tokens of a sequence, by its index.
 */
export function planBatches(
  sequences: readonly SequencePlan[],
  tokens: (index: number) => readonly number[],
  limits: PackLimits,
): BatchPlan[] {
  const groups = limits.pack ? groupByPrompt(sequences, tokens) : sequences.map((sequence) => [sequence]);
  const rows = groups.flatMap((group) => packGroup(group, limits));
  const isPacked = (row: RowPlan) => row.sequences.length > 1;
  return [
    ...cutBatches(rows.filter(isPacked), limits, true),
    ...cutBatches(
      rows.filter((row) => !isPacked(row)),
      limits,
      false,
    ),
  ];
}
