/** The result: one chart of F1, the table of systems, and the paired differences. */
import { type MetricName, metricNames } from "../metrics.ts";
import { excludesZero, type Interval } from "../significance.ts";
import { type Html, html } from "./html.ts";
import { intervalChart } from "./interval-chart.ts";
import { type Difference, type ReportData, type SystemKey, type SystemReport, systemLabels } from "./report-data.ts";
import { score, signed } from "./scale.ts";

/** Column heads; K is filled in. */
export function metricLabel(name: MetricName, topK: number): string {
  const labels: Record<MetricName, string> = {
    f1: "F1",
    em: "EM",
    hit1: "Hit@1",
    hitK: `Hit@${topK}`,
    answerSeen: "answer seen",
    searches: "searches",
    formatValid: "format valid",
    rankerFormatValid: "ranker format",
  };
  return labels[name];
}

/** Searches are counts, everything else is a share. */
export function metricText(name: MetricName, value: number): string {
  return name === "searches" ? value.toFixed(2) : score(value);
}

/** The section; says so where nothing has been evaluated. */
export function resultSection(data: ReportData): Html {
  if (data.systems.length === 0) {
    return html`<section id="result"><h2>The result</h2><p>Nothing has been evaluated on held-out questions yet.</p></section>`;
  }
  const columns = metricNames.filter((name) => data.systems.some(({ scores }) => scores[name] !== undefined));
  const trained = data.systems.filter(({ scores }) => scores.f1 !== undefined);
  return html`<section id="result">
<h2>The result</h2>
<p>Each system answers the same ${data.systems[0]?.questions ?? 0} held-out questions. The dot is its mean F1, the bar the 95 % interval${
    data.seeds.length > 1 && ", the small rings its single seeds"
  }.</p>
<div class="card scroll">${intervalChart(
    trained.map(({ key, scores, seeds }) => ({
      name: systemLabels[key].name,
      style: systemLabels[key].style,
      interval: scores.f1 as Interval,
      ...(data.seeds.length > 1 && seeds.length > 1 ? { seeds: seeds.map(({ values }) => values.f1 ?? Number.NaN) } : {}),
    })),
    "F1",
    (value) => score(value, 2),
  )}</div>
<div class="card scroll gap"><table>
<thead><tr><th>System</th>${columns.map((name) => html`<th>${metricLabel(name, data.topK)}</th>`)}</tr></thead>
<tbody>${data.systems.map((system) => systemRow(system, columns))}</tbody>
</table></div>
${hopsTable(data)}
${f1Differences(data).length > 0 && differenceTable(data)}
</section>`;
}

function systemRow({ key, scores }: SystemReport, columns: readonly MetricName[]): Html {
  const { name, about, style } = systemLabels[key];
  return html`<tr class="${rowClass(key)}"><td><span class="name"><i class="fill-${style}"></i>${name}</span><small>${about}</small></td>${columns.map(
    (column) => {
      const interval = scores[column];
      return interval
        ? html`<td>${metricText(column, interval.mean)}<small>${metricText(column, interval.low)}–${metricText(column, interval.high)}</small></td>`
        : html`<td>–</td>`;
    },
  )}</tr>`;
}

function differenceTable(data: ReportData): Html {
  const several = data.seeds.length > 1;
  return html`<div class="card scroll gap"><table>
<thead><tr><th>Paired difference in F1</th><th>mean</th><th>95 % interval</th>${several && html`<th>single seeds</th>`}<th>clear of zero</th></tr></thead>
<tbody>${f1Differences(data).map(({ first, second, interval, seeds }) => {
    const clear = excludesZero(interval);
    return html`<tr class="${first === "cosearch" ? "lead" : ""}"><td><span class="name">${systemLabels[first].name} − ${systemLabels[second].name}</span></td><td>${signed(interval.mean)}</td><td>${signed(interval.low)} to ${signed(interval.high)}</td>${
      several && html`<td>${seeds.map((value) => signed(value)).join("  ")}</td>`
    }<td class="${clear ? "yes" : ""}">${clear ? "yes" : "no"}</td></tr>`;
  })}</tbody></table></div>`;
}

/** The paired differences in F1, which the report shows. */
export function f1Differences(data: ReportData): Difference[] {
  return data.differences.filter(({ metric }) => metric === "f1");
}

/** F1 by the number of facts that a question chains. */
function hopsTable(data: ReportData): Html | undefined {
  const hops = [...new Set(data.systems.flatMap(({ f1ByHops }) => f1ByHops.map((part) => part.hops)))].sort(
    (first, second) => first - second,
  );
  if (hops.length < 2) return undefined;
  const questions = (count: number) => data.systems[0]?.f1ByHops.find((part) => part.hops === count)?.questions ?? 0;
  return html`<div class="card scroll gap"><table>
<thead><tr><th>F1 by kind of question</th>${hops.map((count) => html`<th>${count === 1 ? "one fact" : `${count} facts in a row`} (${questions(count)})</th>`)}</tr></thead>
<tbody>${data.systems.map(
    ({ key, f1ByHops }) =>
      html`<tr class="${rowClass(key)}"><td><span class="name"><i class="fill-${systemLabels[key].style}"></i>${systemLabels[key].name}</span></td>${hops.map(
        (count) => {
          const f1 = f1ByHops.find((part) => part.hops === count)?.f1;
          return f1 ? html`<td>${score(f1.mean)}<small>${score(f1.low)}–${score(f1.high)}</small></td>` : html`<td>–</td>`;
        },
      )}</tr>`,
  )}</tbody></table></div>`;
}

function rowClass(key: SystemKey): string {
  return key === "cosearch" ? "lead" : key.startsWith("warmStart") ? "quiet" : "";
}

/** The headline in one sentence, said only as strongly as the intervals allow. */
export function verdict(data: ReportData): Html | undefined {
  const cosearch = data.systems.find(({ key }) => key === "cosearch")?.scores.f1;
  const versusFixed = f1Differences(data).find(({ first, second }) => first === "cosearch" && second === "fixedRanker")?.interval;
  if (!cosearch || !versusFixed) return undefined;
  const reach = html`${signed(versusFixed.mean)} F1, 95 % interval ${signed(versusFixed.low)} to ${signed(versusFixed.high)}`;
  if (versusFixed.low > 0) {
    return html`<p class="verdict">Trained together, agent and ranker reach an F1 of <em>${score(cosearch.mean)}</em>: clearly more than the same agent with a frozen ranker (${reach}).</p>`;
  }
  if (versusFixed.high < 0) {
    return html`<p class="verdict">Trained together, agent and ranker reach an F1 of <em>${score(cosearch.mean)}</em>: here clearly <strong>less</strong> than the same agent with a frozen ranker (${reach}).</p>`;
  }
  return html`<p class="verdict">Trained together, agent and ranker reach an F1 of <em>${score(cosearch.mean)}</em>. These questions don't show a clear difference from the same agent with a frozen ranker (${reach}).</p>`;
}
