/** Entry point `cosearch/evaluation`. */
export { evenlySpaced } from "../evenly-spaced.ts";
export { type EvaluationRequest, evaluate } from "./evaluate.ts";
export { difference, type MetricName, metricNames, type RecordTable, type Scores, scores } from "./metrics.ts";
export { type CandidateRecord, type QuestionRecord, questionRecord, type Scoring, type SearchRecord, type TurnRecord } from "./record.ts";
export { buildReport, type EvaluatedSystem, type ReportSources } from "./report/build-report.ts";
export { renderReport } from "./report/report.ts";
export type { ReportData } from "./report/report-data.ts";
export { resultTable } from "./report/result-table.ts";
export { type Summary, summaryOf } from "./report/summary.ts";
export { bootstrapInterval, type Contribution, contribution, excludesZero, type Interval, pairedDifference } from "./significance.ts";
