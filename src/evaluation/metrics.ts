/** The figures of the result table, each as what every question contributes to it. */
import type { Rng } from "../rng.ts";
import type { QuestionRecord, SearchRecord } from "./record.ts";
import { bootstrapInterval, type Contribution, contribution, type Interval, pairedDifference } from "./significance.ts";

/** The metrics in the order of the table's columns. */
export const metricNames = ["f1", "em", "hit1", "hitK", "answerSeen", "searches", "formatValid", "rankerFormatValid"] as const;
/** Name of a metric. */
export type MetricName = (typeof metricNames)[number];

/** Records of one system: [seed][question], the same questions in the same order for every seed. */
export type RecordTable = readonly (readonly QuestionRecord[])[];

/** One metric of one question. */
export function metricContribution(name: MetricName, record: QuestionRecord): Contribution {
  const searches = record.turns.flatMap(({ search }) => (search ? [search] : []));
  const answerable = searches.filter(({ answerInCandidates }) => answerInCandidates);
  const share = (hits: readonly SearchRecord[], among: readonly SearchRecord[]) => ({ numerator: hits.length, denominator: among.length });
  switch (name) {
    case "f1":
      return contribution(record.f1);
    case "em":
      return contribution(record.em);
    case "searches":
      return contribution(record.searches);
    case "formatValid":
      return contribution(record.formatValid ? 1 : 0);
    case "answerSeen":
      return contribution(searches.some(({ hitAtK }) => hitAtK) ? 1 : 0);
    case "hit1":
      return share(
        answerable.filter(({ hitAt1 }) => hitAt1),
        answerable,
      );
    case "hitK":
      return share(
        answerable.filter(({ hitAtK }) => hitAtK),
        answerable,
      );
    case "rankerFormatValid": {
      const ranked = searches.filter(({ ranker }) => ranker !== undefined);
      return share(
        ranked.filter(({ ranker }) => ranker?.malformed === undefined),
        ranked,
      );
    }
  }
}

/** Whether anything contributes to the metric: Retrieval Only, for one, has no ranker whose format could be valid. */
export function isMeasured(name: MetricName, table: RecordTable): boolean {
  return table.some((records) => records.some((record) => metricContribution(name, record).denominator > 0));
}

/** A system's metrics; those that nothing contributes to are absent. */
export type Scores = Partial<Record<MetricName, Interval>>;

/** Every metric of a system with its interval; the bootstrap stream of each is its own. */
export function scores(table: RecordTable, stream: (name: string) => Rng, samples: number): Scores {
  const entries = metricNames
    .filter((name) => isMeasured(name, table))
    .map((name) => [name, bootstrapInterval(contributions(name, table), { rng: stream(name), samples })] as const);
  return Object.fromEntries(entries);
}

/** The paired difference of one metric, first - second. */
export function difference(name: MetricName, first: RecordTable, second: RecordTable, rng: Rng, samples: number): Interval {
  return pairedDifference(contributions(name, first), contributions(name, second), { rng, samples });
}

function contributions(name: MetricName, table: RecordTable): Contribution[][] {
  return table.map((records) => records.map((record) => metricContribution(name, record)));
}

/** The metric's value over one seed's records. */
export function single(name: MetricName, records: readonly QuestionRecord[]): number {
  let numerator = 0;
  let denominator = 0;
  for (const record of records) {
    const item = metricContribution(name, record);
    numerator += item.numerator;
    denominator += item.denominator;
  }
  return denominator === 0 ? 0 : numerator / denominator;
}
