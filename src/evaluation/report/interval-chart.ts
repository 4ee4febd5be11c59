/** Dots with their 95 % intervals, one row a system, as SVG. */
import type { Interval } from "../significance.ts";
import { type Html, html } from "./html.ts";
import { roundAxis } from "./scale.ts";

/** One row of the chart. */
export interface IntervalRow {
  readonly name: string;
  /** Style class that carries the colour. */
  readonly style: string;
  readonly interval: Interval;
  /** Results of the single seeds, drawn as small open dots. */
  readonly seeds?: readonly number[];
}

const width = 720;
const rowHeight = 44;
const frame = { left: 172, right: 70, top: 6, bottom: 34 };

/** The chart; `label` names the metric under the axis. */
export function intervalChart(rows: readonly IntervalRow[], label: string, format: (value: number) => string): Html {
  const height = frame.top + rows.length * rowHeight + frame.bottom;
  const axis = roundAxis(
    rows.flatMap(({ interval, seeds }) => [interval.low, interval.high, ...(seeds ?? [])]),
    5,
  );
  const x = (value: number) => frame.left + ((value - axis.low) / (axis.high - axis.low)) * (width - frame.left - frame.right);
  const words = rows
    .map(({ name, interval }) => `${name} ${format(interval.mean)} (${format(interval.low)} to ${format(interval.high)})`)
    .join("; ");
  return html`<svg class="intervals" viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}: ${words}">
${axis.ticks.map(
  (tick) =>
    html`<line class="grid" x1="${x(tick).toFixed(1)}" x2="${x(tick).toFixed(1)}" y1="${frame.top}" y2="${height - frame.bottom}"/><text class="tick" x="${x(tick).toFixed(1)}" y="${height - frame.bottom + 18}" text-anchor="middle">${format(tick)}</text>`,
)}
<text class="tick" x="${width - frame.right + 62}" y="${height - frame.bottom + 18}" text-anchor="end">${label}</text>
${rows.map(({ name, style, interval, seeds }, index) => {
  const y = frame.top + (index + 0.5) * rowHeight;
  return html`<g><title>${name}: ${format(interval.mean)}, 95 % interval ${format(interval.low)} to ${format(interval.high)}</title>
<text class="row" x="${frame.left - 16}" y="${y + 5}" text-anchor="end">${name}</text>
<line class="whisker stroke-${style}" x1="${x(interval.low).toFixed(1)}" x2="${x(interval.high).toFixed(1)}" y1="${y}" y2="${y}"/>
${(seeds ?? []).map((value) => html`<circle class="seed stroke-${style}" cx="${x(value).toFixed(1)}" cy="${y}" r="3"/>`)}
<circle class="fill-${style}" cx="${x(interval.mean).toFixed(1)}" cy="${y}" r="6.5"/>
<text class="value" x="${(x(interval.high) + 10).toFixed(1)}" y="${y + 5}">${format(interval.mean)}</text></g>`;
})}
</svg>`;
}
