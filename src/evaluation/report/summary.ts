/** The result for scripts: summary.json. */
import type { MetricName } from "../metrics.ts";
import type { Interval } from "../significance.ts";
import type { ReportData, SystemKey, SystemReport } from "./report-data.ts";

/** The means of all metrics; Hit@1 and Hit@K are 0 where no search had an answer among its candidates. */
export interface SystemSummary extends Partial<Record<MetricName, number>> {
  readonly f1: number;
  readonly em: number;
  readonly hit1: number;
  readonly hitK: number;
  readonly searches: number;
  readonly formatValid: number;
  /** Held-out questions, a seed. */
  readonly n: number;
  readonly intervals: SystemReport["scores"];
  readonly f1ByHops: SystemReport["f1ByHops"];
  readonly seeds: SystemReport["seeds"];
}

/** The content of summary.json. */
export interface Summary {
  readonly name: string;
  readonly note?: string;
  /** The first seed; `seeds` has all. */
  readonly seed: number;
  readonly seeds: readonly number[];
  readonly steps: number;
  readonly topK: number;
  readonly seconds?: number;
  readonly peakMemoryBytes?: number;
  readonly systems: Partial<Record<SystemKey, SystemSummary>>;
  /** `cosearch-fixedRanker`.f1 and so on: mean, low and high of the paired difference, and the difference of every seed. */
  readonly differences: Readonly<Record<string, Partial<Record<MetricName, Interval & { readonly seeds: readonly number[] }>>>>;
}

/** The figures of a report without its texts. */
export function summaryOf(data: ReportData): Summary {
  const differences: Record<string, Partial<Record<MetricName, Interval & { seeds: readonly number[] }>>> = {};
  for (const { metric, first, second, interval, seeds } of data.differences) {
    const name = `${first}-${second}`;
    differences[name] = { ...differences[name], [metric]: { ...interval, seeds } };
  }
  return {
    name: data.title,
    ...(data.note === undefined ? {} : { note: data.note }),
    seed: data.seeds[0] ?? 0,
    seeds: data.seeds,
    steps: data.steps,
    topK: data.topK,
    ...(data.seconds === undefined ? {} : { seconds: data.seconds }),
    ...(data.peakMemoryBytes === undefined ? {} : { peakMemoryBytes: data.peakMemoryBytes }),
    systems: Object.fromEntries(data.systems.map((system) => [system.key, systemSummary(system)])),
    differences,
  };
}

function systemSummary({ scores, seeds, f1ByHops, questions }: SystemReport): SystemSummary {
  const means = Object.fromEntries(Object.entries(scores).map(([name, interval]) => [name, interval.mean]));
  return { f1: 0, em: 0, hit1: 0, hitK: 0, searches: 0, formatValid: 0, ...means, n: questions, intervals: scores, f1ByHops, seeds };
}
