/** Seconds by phase. Phases may overlap (both policies are updated at once); a phase entered many times at once is counted once. */
export class PhaseClock<Phase extends string> {
  private readonly total = new Map<Phase, number>();
  private readonly open = new Map<Phase, { count: number; since: number }>();

  /** Runs work as part of a phase. */
  async during<Result>(phase: Phase, work: () => Promise<Result>): Promise<Result> {
    const current = this.open.get(phase) ?? { count: 0, since: 0 };
    this.open.set(phase, current);
    if (current.count++ === 0) current.since = performance.now();
    try {
      return await work();
    } finally {
      if (--current.count === 0) this.total.set(phase, this.seconds(phase) + (performance.now() - current.since) / 1000);
    }
  }

  /** Seconds spent in a finished phase. */
  seconds(phase: Phase): number {
    return this.total.get(phase) ?? 0;
  }
}
