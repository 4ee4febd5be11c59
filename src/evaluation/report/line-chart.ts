/** A line chart as SVG: faint raw curves under smoothed ones, round axes, a legend, and values on hover, without any script. */
import { type Html, html } from "./html.ts";
import { type Axis, type Point, roundAxis } from "./scale.ts";

/** One curve of a chart. */
export interface Series {
  readonly name: string;
  /** Style class that carries colour and dash, e.g. `cosearch`. */
  readonly style: string;
  /** The curve to read. */
  readonly line: readonly Point[];
  /** What it was smoothed from, one curve a seed; drawn faintly. */
  readonly raw?: readonly (readonly Point[])[];
}

/** What a chart shows and says. */
export interface LineChart {
  readonly title: string;
  /** One sentence that says what to look for. */
  readonly caption: string;
  readonly xLabel: string;
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  /** Bounds of the y axis, e.g. [0, 1] for a share. */
  readonly within?: readonly [number, number];
}

const width = 560;
const height = 290;
const frame = { left: 46, right: 12, top: 10, bottom: 36 };
const inner = { width: width - frame.left - frame.right, height: height - frame.top - frame.bottom };
/** Hover columns are as fine as a pointer can tell apart. */
const hoverColumns = 60;

/** The figure with its title, legend and caption; nothing at all when no series has a point. */
export function lineChart(chart: LineChart): Html | undefined {
  const series = chart.series.filter(({ line }) => line.length > 0);
  if (series.length === 0) return undefined;
  const steps = series.flatMap(({ line }) => line.map(({ x }) => x));
  const xAxis: Axis = { ...roundAxis(steps, 6), low: Math.min(...steps), high: Math.max(...steps, Math.min(...steps) + 1) };
  const yAxis = roundAxis(
    series.flatMap(({ line, raw }) => [...line, ...(raw ?? []).flat()].map(({ y }) => y)),
    4,
    chart.within,
  );
  const x = (value: number) => frame.left + ((value - xAxis.low) / (xAxis.high - xAxis.low)) * inner.width;
  const y = (value: number) => frame.top + (1 - (value - yAxis.low) / (yAxis.high - yAxis.low || 1)) * inner.height;
  const path = (points: readonly Point[]) =>
    points.map((point, index) => `${index === 0 ? "M" : "L"}${x(point.x).toFixed(1)} ${y(point.y).toFixed(1)}`).join("");
  return html`<figure class="chart">
<figcaption><strong>${chart.title}</strong><span>${chart.caption}</span></figcaption>
${series.length > 1 && legend(series)}
<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${describe(chart, series)}">
${yAxis.ticks.map(
  (tick) =>
    html`<line class="grid" x1="${frame.left}" x2="${width - frame.right}" y1="${y(tick).toFixed(1)}" y2="${y(tick).toFixed(1)}"/><text class="tick" x="${frame.left - 8}" y="${(y(tick) + 4).toFixed(1)}" text-anchor="end">${chart.format(tick)}</text>`,
)}
${xAxis.ticks
  .filter((tick) => tick >= xAxis.low && tick <= xAxis.high)
  .map((tick) => html`<text class="tick" x="${x(tick).toFixed(1)}" y="${height - frame.bottom + 18}" text-anchor="middle">${tick}</text>`)}
<text class="tick" x="${width - frame.right}" y="${height - 2}" text-anchor="end">${chart.xLabel}</text>
<line class="base" x1="${frame.left}" x2="${width - frame.right}" y1="${height - frame.bottom}" y2="${height - frame.bottom}"/>
${series.map(({ style, raw }) => (raw ?? []).map((curve) => html`<path class="raw stroke-${style}" d="${path(curve.filter(({ y: value }) => Number.isFinite(value)))}"/>`))}
${series.map(({ style, line }) =>
  line.length === 1
    ? html`<circle class="fill-${style}" cx="${x(line[0]?.x ?? 0)}" cy="${y(line[0]?.y ?? 0)}" r="3.5"/>`
    : html`<path class="line stroke-${style}" d="${path(line)}"/>`,
)}
${hover(chart, series, xAxis, x)}
</svg>
</figure>`;
}

export function legend(series: readonly { readonly name: string; readonly style: string }[]): Html {
  return html`<ul class="legend">${series.map(
    ({ name, style }) =>
      html`<li><svg viewBox="0 0 26 8" aria-hidden="true"><line class="line stroke-${style}" x1="1" x2="25" y1="4" y2="4"/></svg>${name}</li>`,
  )}</ul>`;
}

/** Invisible columns whose titles the browser shows under the pointer. */
function hover(chart: LineChart, series: readonly Series[], axis: Axis, x: (value: number) => number): Html[] {
  const steps = [...new Set(series.flatMap(({ line }) => line.map((point) => point.x)))].sort((first, second) => first - second);
  const stride = Math.ceil(steps.length / hoverColumns);
  const shown = steps.filter((_, index) => index % stride === 0 || index === steps.length - 1);
  return shown.map((step, index) => {
    const left = index === 0 ? x(axis.low) : (x(shown[index - 1] as number) + x(step)) / 2;
    const right = index === shown.length - 1 ? x(axis.high) : (x(step) + x(shown[index + 1] as number)) / 2;
    const values = series.flatMap(({ name, line }) => {
      const point = line.find((candidate) => candidate.x === step);
      return point ? [`${name}: ${chart.format(point.y)}`] : [];
    });
    return html`<g class="hover"><rect x="${left.toFixed(1)}" y="${frame.top}" width="${Math.max(right - left, 1).toFixed(1)}" height="${inner.height}"><title>${[`${chart.xLabel} ${step}`, ...values].join("\n")}</title></rect><line x1="${x(step).toFixed(1)}" x2="${x(step).toFixed(1)}" y1="${frame.top}" y2="${height - frame.bottom}"/></g>`;
  });
}

/** The chart in words, for readers who can't see it. */
function describe(chart: LineChart, series: readonly Series[]): string {
  const ends = series.map(
    ({ name, line }) => `${name} from ${chart.format((line[0] as Point).y)} to ${chart.format((line.at(-1) as Point).y)}`,
  );
  return `${chart.title}: ${ends.join("; ")}`;
}
