/** Numbers for charts: round axis ticks, number formats, smoothing. */

/** A point of a curve. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** An axis: its ends and its ticks. */
export interface Axis {
  readonly low: number;
  readonly high: number;
  readonly ticks: readonly number[];
}

/** An axis with about `target` round ticks (steps of 1, 2 or 5 times a power of ten) that covers the values; `within` bounds it. */
export function roundAxis(values: readonly number[], target = 4, within: readonly [number, number] = [-Infinity, Infinity]): Axis {
  const finite = values.filter(Number.isFinite);
  let low = finite.length ? Math.min(...finite) : 0;
  let high = finite.length ? Math.max(...finite) : 1;
  if (high - low < 1e-9) {
    const margin = Math.max(Math.abs(high) * 0.1, 0.05);
    [low, high] = [low - margin, high + margin];
  }
  const step = roundStep((high - low) / target);
  low = Math.max(Math.floor(low / step + 1e-9) * step, within[0]);
  high = Math.min(Math.ceil(high / step - 1e-9) * step, within[1]);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  const ticks = Array.from({ length: last - first + 1 }, (_, index) => Number(((first + index) * step).toPrecision(12)));
  return { low, high, ticks };
}

function roundStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const lead = rough / power;
  return (lead > 5 ? 10 : lead > 2 ? 5 : lead > 1 ? 2 : 1) * power;
}

/** A moving average over `reach` neighbours on each side, fewer at the ends. Missing values (NaN) are skipped. */
export function smooth(points: readonly Point[], reach: number): Point[] {
  const averaged: Point[] = [];
  for (const [index, { x }] of points.entries()) {
    const near = points.slice(Math.max(0, index - reach), index + reach + 1).filter(({ y }) => Number.isFinite(y));
    if (near.length > 0) averaged.push({ x, y: near.reduce((sum, { y }) => sum + y, 0) / near.length });
  }
  return averaged;
}

/** The mean of several curves at every x that any of them has, in order of x. */
export function meanCurve(curves: readonly (readonly Point[])[]): Point[] {
  const sums = new Map<number, { total: number; count: number }>();
  for (const { x, y } of curves.flat()) {
    if (!Number.isFinite(y)) continue;
    const sum = sums.get(x) ?? { total: 0, count: 0 };
    sums.set(x, { total: sum.total + y, count: sum.count + 1 });
  }
  return [...sums].map(([x, { total, count }]) => ({ x, y: total / count })).sort((first, second) => first.x - second.x);
}

/** A score between 0 and 1 the way the field prints it: `.626`, `1.000`, `−.012`; a missing one is a dash. */
export function score(value: number | undefined, digits = 3): string {
  if (value === undefined || !Number.isFinite(value)) return "–";
  const text = Math.abs(value).toFixed(digits);
  const sign = value < 0 && Number(text) !== 0 ? "−" : "";
  return sign + text.replace(/^0\./, ".");
}

/** A difference of scores with its sign: `+.118`, `−.004`, `.000`. */
export function signed(value: number, digits = 3): string {
  const text = score(value, digits);
  return value > 0 && Number(Math.abs(value).toFixed(digits)) !== 0 ? `+${text}` : text;
}

/** `45 s`, `3 min 5 s`, `1 h 12 min`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}
