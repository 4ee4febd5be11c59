/** What an evaluation that failed or was stopped had answered: evaluations/<name>.unfinished.jsonl, a header and then a line a question. */
import { appendFile, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { InfrastructureError } from "../errors.ts";
import type { EvaluatedQuestion } from "../evaluation/evaluate.ts";
import type { QuestionRecord } from "../evaluation/record.ts";
import { readIfPresent, writeAtomically } from "../files/atomic-file.ts";

/** Records that are kept while an evaluation goes on, so that the next attempt asks only the other questions. */
export class UnfinishedEvaluation {
  private constructor(
    private readonly file: string,
    /** By question id. */
    readonly known: ReadonlyMap<string, QuestionRecord>,
  ) {}

  /** What an earlier attempt left; nothing when that was of other weights. @param step Training steps behind the evaluated weights. */
  static async open(runFolder: string, name: string, step: number): Promise<UnfinishedEvaluation> {
    const folder = join(runFolder, "evaluations");
    const file = join(folder, `${name}.unfinished.jsonl`);
    const header = JSON.stringify({ step });
    const [found, ...lines] = (await readIfPresent(file))?.split("\n") ?? [];
    const entries = found === header ? lines.flatMap(parsed) : [];
    const records = entries.flatMap((entry) => ("record" in entry ? [entry.record] : []));
    await mkdir(folder, { recursive: true });
    await writeAtomically(file, [header, ...records.map((record) => JSON.stringify({ record })), ""].join("\n"));
    return new UnfinishedEvaluation(file, new Map(records.map((record) => [record.questionId, record])));
  }

  /** Adds the questions of a batch, failures included. */
  async keep(batch: readonly EvaluatedQuestion[]): Promise<void> {
    await appendFile(this.file, batch.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
  }

  /** The same result, or a failure that also says where the finished questions are. */
  async guard<Result>(evaluation: Promise<Result>): Promise<Result> {
    try {
      return await evaluation;
    } catch (error) {
      if (!(error instanceof InfrastructureError)) throw error;
      throw new InfrastructureError(
        `${error.message}\nNo figures were made. Every answer and failure is in ${this.file}: the same command asks only what is missing`,
        { cause: error },
      );
    }
  }

  /** The evaluation is whole. */
  async finish(): Promise<void> {
    await rm(this.file, { force: true });
  }
}

/** A line; nothing for one that a killed process left half-written. */
function parsed(line: string): EvaluatedQuestion[] {
  try {
    return [JSON.parse(line) as EvaluatedQuestion];
  } catch {
    return [];
  }
}
