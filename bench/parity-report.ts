/** Figures of a comparison against their bounds, a JSON line each. */
import { printLine } from "./options.ts";

/** Collects what is out of bounds. */
export class ParityReport {
  private readonly broken: string[] = [];
  private checks = 0;

  /** @param print Takes every line. */
  constructor(private readonly print: (figures: object) => void = printLine) {}

  /** Prints figures that are not compared. */
  note(figures: object): void {
    this.print({ benchmark: "parity", ...figures });
  }

  /** Prints one comparison; NaN is out of every bound. */
  check(
    figures: { readonly check: string; readonly model: string; readonly [figure: string]: unknown },
    value: number,
    bound: number,
  ): void {
    const ok = value <= bound;
    this.checks += 1;
    this.note({ ...figures, value, bound, ok });
    if (!ok) this.broken.push(`${figures.model}: ${figures.check} is ${value}, above ${bound}`);
  }

  /** @throws Error naming every comparison that is out of bounds. */
  finish(): void {
    if (this.broken.length > 0)
      throw new Error(`parity: ${this.broken.length} of ${this.checks} comparisons are out of bounds\n${this.broken.join("\n")}`);
    this.note({ checks: this.checks, ok: true });
  }
}
