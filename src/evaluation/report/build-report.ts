/** From records to the data of a report. Pure: files are read by the command line. */
import type { Config, SystemName } from "../../config.ts";
import { Rng } from "../../rng.ts";
import { difference, isMeasured, type MetricName, metricNames, type RecordTable, scores, single } from "../metrics.ts";
import type { QuestionRecord } from "../record.ts";
import { bootstrapInterval, contribution } from "../significance.ts";
import { chooseExamples } from "./choose-examples.ts";
import {
  type Difference,
  type LearningCurve,
  type ReportData,
  type SystemKey,
  type SystemReport,
  systemKeys,
  systemLabels,
  type TrainingGroup,
} from "./report-data.ts";

/** One system's answers, trained with one seed; the warm start has none of its own and counts for every seed. */
export interface EvaluatedSystem {
  readonly key: SystemKey;
  readonly seed?: number;
  readonly records: readonly QuestionRecord[];
  /** Why its training ended early, if the alarm stopped it. */
  readonly alarm?: string;
}

/** All that a report is built from. */
export interface ReportSources {
  readonly config: Config;
  /** The configuration as YAML. */
  readonly configuration: string;
  readonly seeds: readonly number[];
  readonly evaluated: readonly EvaluatedSystem[];
  readonly curves: readonly LearningCurve[];
  readonly trainingGroups: readonly TrainingGroup[];
  readonly seconds?: number;
  readonly peakMemoryBytes?: number;
}

/** What each system is called in reports and summaries. */
export const systemKeyOf: Record<SystemName, SystemKey> = {
  "retrieval-only": "retrievalOnly",
  "fixed-ranker": "fixedRanker",
  cosearch: "cosearch",
  oracle: "oracle",
};

const comparisons: readonly (readonly [SystemKey, SystemKey])[] = [
  ["cosearch", "fixedRanker"],
  ["cosearch", "retrievalOnly"],
  ["fixedRanker", "retrievalOnly"],
  ["oracle", "cosearch"],
  ["cosearch", "warmStartRanker"],
];
const comparedMetrics: readonly MetricName[] = ["f1", "em", "hit1", "hitK", "searches"];

/**
 * Scores, intervals, paired differences and examples of the evaluated systems; the bootstrap's streams are fixed, so equal
 * records give equal reports.
 */
export function buildReport(sources: ReportSources): ReportData {
  const { config, seeds } = sources;
  const samples = config.evaluation.bootstrapSamples;
  const tables = new Map<SystemKey, RecordTable>();
  for (const key of systemKeys) {
    const table = tableOf(key, sources);
    if (table) tables.set(key, table);
  }
  return {
    title: config.name,
    ...(config.note === undefined ? {} : { note: config.note }),
    alarms: sources.evaluated.flatMap(({ key, seed, alarm }) =>
      alarm === undefined ? [] : [`${systemLabels[key].name}${seed === undefined ? "" : `, seed ${seed}`}: ${alarm}`],
    ),
    seeds,
    steps: config.training.steps,
    candidates: config.retrieval.candidates,
    topK: config.ranker.topK,
    ...(sources.seconds === undefined ? {} : { seconds: sources.seconds }),
    ...(sources.peakMemoryBytes === undefined ? {} : { peakMemoryBytes: sources.peakMemoryBytes }),
    systems: [...tables].map(([key, table]) => systemReport(key, table, sources)),
    differences: comparisons.flatMap(([first, second]) =>
      comparedMetrics.flatMap((metric) => compare(metric, first, second, tables, samples)),
    ),
    curves: sources.curves,
    examples: chooseExamples(Object.fromEntries([...tables].map(([key, table]) => [key, table[0] ?? []]))),
    trainingGroups: sources.trainingGroups,
    configuration: sources.configuration,
  };
}

/** [seed][question] of a system; undefined when some seed is missing. */
function tableOf(key: SystemKey, { seeds, evaluated }: ReportSources): RecordTable | undefined {
  const rows = seeds.map((seed) => evaluated.find((one) => one.key === key && (one.seed === undefined || one.seed === seed))?.records);
  return rows.every((records) => records !== undefined && records.length > 0) ? (rows as RecordTable) : undefined;
}

function systemReport(key: SystemKey, table: RecordTable, { config, seeds }: ReportSources): SystemReport {
  const samples = config.evaluation.bootstrapSamples;
  const measured = metricNames.filter((name) => isMeasured(name, table));
  const hops = [...new Set((table[0] ?? []).flatMap((record) => record.hops ?? []))].sort((first, second) => first - second);
  return {
    key,
    scores: scores(table, (name) => Rng.stream(0, "bootstrap", key, name), samples),
    seeds: key.startsWith("warmStart")
      ? []
      : seeds.map((seed, row) => ({ seed, values: Object.fromEntries(measured.map((name) => [name, single(name, table[row] ?? [])])) })),
    f1ByHops: hops.map((count) => {
      const part = table.map((records) => records.filter((record) => record.hops === count));
      const f1 = bootstrapInterval(
        part.map((records) => records.map((record) => contribution(record.f1))),
        { rng: Rng.stream(0, "bootstrap", key, "hops", count), samples },
      );
      return { hops: count, questions: part[0]?.length ?? 0, f1 };
    }),
    questions: table[0]?.length ?? 0,
  };
}

function compare(
  metric: MetricName,
  first: SystemKey,
  second: SystemKey,
  tables: ReadonlyMap<SystemKey, RecordTable>,
  samples: number,
): Difference[] {
  const [one, other] = [tables.get(first), tables.get(second)];
  if (!one || !other || !isMeasured(metric, one) || !isMeasured(metric, other)) return [];
  const interval = difference(metric, one, other, Rng.stream(0, "bootstrap", first, second, metric), samples);
  const seeds = one.map((records, row) => single(metric, records) - single(metric, other[row] ?? []));
  return [{ metric, first, second, interval, seeds }];
}
