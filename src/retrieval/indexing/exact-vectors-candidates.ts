/**
 * Rows of one block whose approximate score may bring them among the best. Only what can't be among the `topK` best of the block is
 * dropped: rows that fall behind the k-th by more than twice the error of an approximate score.
 */
export class Candidates {
  private rows: number[] = [];
  private scores: number[] = [];
  private capacity: number;

  /**
   * @param floor Rows below it need not be added.
   * @param error Approximate scores are off by at most this much.
   */
  constructor(
    private readonly topK: number,
    public floor: number,
    private readonly error: number,
  ) {
    this.capacity = Math.max(4 * topK, 256);
  }

  add(row: number, score: number): void {
    this.rows.push(row);
    this.scores.push(score);
    if (this.rows.length < this.capacity) return;
    this.cut();
    // Where nearly all are alike, cutting again and again would take most of the time.
    this.capacity = Math.max(this.capacity, 2 * this.rows.length);
  }

  /** The rows left, in no order. */
  finish(): readonly number[] {
    this.cut();
    return this.rows;
  }

  private cut(): void {
    if (this.rows.length <= this.topK) return;
    const sorted = Float64Array.from(this.scores).sort();
    this.floor = Math.max(this.floor, (sorted[sorted.length - this.topK] as number) - 2 * this.error);
    const kept = this.scores.map((score) => score >= this.floor);
    this.rows = this.rows.filter((_, index) => kept[index]);
    this.scores = this.scores.filter((_, index) => kept[index]);
  }
}
