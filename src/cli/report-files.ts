import { join } from "node:path";
import { buildReport } from "../evaluation/report/build-report.ts";
import { renderReport } from "../evaluation/report/report.ts";
import type { ReportData } from "../evaluation/report/report-data.ts";
import { summaryOf } from "../evaluation/report/summary.ts";
import { writeAtomically } from "../files/atomic-file.ts";
import { writeJsonAtomically } from "../files/json-file.ts";
import { readReportSources } from "./run-folders.ts";

/** A report's data and the paths of its files. */
export interface WrittenReport {
  readonly data: ReportData;
  readonly html: string;
  readonly summary: string;
}

/** Writes report.html and summary.json of a run or study folder from its files; returns their paths. */
export async function writeReport(folder: string): Promise<WrittenReport> {
  const data = buildReport(await readReportSources(folder));
  const html = join(folder, "report.html");
  const summary = join(folder, "summary.json");
  await writeAtomically(html, renderReport(data));
  await writeJsonAtomically(summary, summaryOf(data));
  return { data, html, summary };
}
