import type { Place } from "./corpus-stream.ts";

/** Rows of one file whose lines rise by the same step; step 0 with line 0: rows of a file without lines. */
interface Run {
  readonly row: number;
  readonly file: string;
  readonly line: number;
  step: number | undefined;
}

/** Where each row was read. Neighbours with lines at equal distances share an entry, so that millions of rows take next to nothing. */
export class PlacesOfRows {
  private readonly runs: Run[] = [];
  private rows = 0;

  add({ file, line = 0 }: Place): void {
    const row = this.rows++;
    const run = this.runs.at(-1);
    if (run?.file === file) {
      run.step ??= line - run.line;
      if (run.line + run.step * (row - run.row) === line) return;
    }
    this.runs.push({ row, file, line, step: undefined });
  }

  at(row: number): Place {
    let [low, high] = [0, this.runs.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.runs[middle] as Run).row <= row) low = middle;
      else high = middle - 1;
    }
    const run = this.runs[low] as Run;
    const line = run.line + (run.step ?? 0) * (row - run.row);
    return line === 0 ? { file: run.file } : { file: run.file, line };
  }
}
