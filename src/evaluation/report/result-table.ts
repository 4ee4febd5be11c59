/** The result as plain text for a terminal. */
import { type MetricName, metricNames } from "../metrics.ts";
import { excludesZero } from "../significance.ts";
import { type ReportData, systemLabels } from "./report-data.ts";
import { f1Differences, metricLabel, metricText } from "./result-section.ts";
import { signed } from "./scale.ts";

/** Systems by metrics, F1 with its interval, then the paired differences. */
export function resultTable(data: ReportData): string {
  const columns = metricNames.filter((name) => data.systems.some(({ scores }) => scores[name] !== undefined));
  const rows = data.systems.map(({ key, scores }) => [
    systemLabels[key].name,
    ...columns.map((name) => {
      const interval = scores[name];
      if (!interval) return "–";
      const mean = metricText(name, interval.mean);
      return name === "f1" ? `${mean} [${metricText(name, interval.low)}, ${metricText(name, interval.high)}]` : mean;
    }),
  ]);
  const systems = aligned([["System", ...columns.map((name: MetricName) => metricLabel(name, data.topK))], ...rows]);
  const shown = f1Differences(data);
  if (shown.length === 0) return systems;
  const several = data.seeds.length > 1;
  const differences = aligned([
    ["Paired difference in F1", "mean", "95 % interval", ...(several ? ["single seeds"] : []), "clear of zero"],
    ...shown.map(({ first, second, interval, seeds }) => [
      `${systemLabels[first].name} − ${systemLabels[second].name}`,
      signed(interval.mean),
      `[${signed(interval.low)}, ${signed(interval.high)}]`,
      ...(several ? [seeds.map((value) => signed(value)).join(" ")] : []),
      excludesZero(interval) ? "yes" : "no",
    ]),
  ]);
  return `${systems}\n\n${differences}`;
}

/** Columns of equal width, the first to the left, the others to the right; a rule under the head. */
function aligned(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  const line = (row: readonly string[]) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join("  ");
  const [head = [], ...body] = rows;
  return [line(head), "─".repeat(line(head).length), ...body.map(line)].join("\n");
}
