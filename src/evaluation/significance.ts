/**
 * Bootstrap 95 % intervals. The unit that is resampled is the question; several seeds of one system are a table
 * [seed][question], and seeds and questions are then both resampled, so that the interval covers both sources of chance.
 */
import type { Rng } from "../rng.ts";

/** A mean with the ends of its percentile interval. */
export interface Interval {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

/**
 * What one question contributes to a metric: the metric is sum(numerator) / sum(denominator). A plain mean has denominator 1;
 * "Hit@1 over the searches whose candidates held an answer" has the number of such searches.
 */
export interface Contribution {
  readonly numerator: number;
  readonly denominator: number;
}

/** [seed][question]; every seed lists the same questions in the same order. */
export type SeedTable = readonly (readonly Contribution[])[];

/** How often is resampled, from which stream, for which confidence. */
export interface BootstrapOptions {
  readonly rng: Rng;
  /** Resamples. Default 2000. */
  readonly samples?: number;
  /** Default 0.95. */
  readonly confidence?: number;
}

/** A plain number a question. */
export function contribution(value: number): Contribution {
  return { numerator: value, denominator: 1 };
}

/** The metric, averaged over seeds, with its interval. Zero where nothing contributes. */
export function bootstrapInterval(table: SeedTable, options: BootstrapOptions): Interval {
  return bootstrap([flatten(table)], ([value]) => value as number, options);
}

/**
 * The paired difference first - second: both systems are resampled with the same questions (and seeds), so that what makes
 * a question easy or hard for both cancels out.
 * @throws RangeError when the two tables differ in shape.
 */
export function pairedDifference(first: SeedTable, second: SeedTable, options: BootstrapOptions): Interval {
  const [one, other] = [flatten(first), flatten(second)];
  if (one.seeds !== other.seeds || one.questions !== other.questions) {
    throw new RangeError(
      `paired systems need the same questions and seeds, got ${one.seeds} x ${one.questions} and ${other.seeds} x ${other.questions}`,
    );
  }
  return bootstrap([one, other], ([value, base]) => (value as number) - (base as number), options);
}

/** Whether the interval lies wholly above or below zero. */
export function excludesZero(interval: Interval): boolean {
  return interval.low > 0 || interval.high < 0;
}

interface FlatTable {
  readonly seeds: number;
  readonly questions: number;
  readonly numerators: Float64Array;
  readonly denominators: Float64Array;
}

function flatten(table: SeedTable): FlatTable {
  const questions = table[0]?.length ?? 0;
  if (questions === 0) throw new RangeError("an interval needs at least one question");
  const numerators = new Float64Array(table.length * questions);
  const denominators = new Float64Array(table.length * questions);
  for (const [seed, row] of table.entries()) {
    if (row.length !== questions) throw new RangeError(`every seed needs the same questions, got ${questions} and ${row.length}`);
    for (const [question, item] of row.entries()) {
      numerators[seed * questions + question] = item.numerator;
      denominators[seed * questions + question] = item.denominator;
    }
  }
  return { seeds: table.length, questions, numerators, denominators };
}

/** Mean over the drawn seeds of each seed's ratio over the drawn questions. */
function metric(table: FlatTable, seeds: Int32Array, counts: Float64Array): number {
  let total = 0;
  for (const seed of seeds) {
    let numerator = 0;
    let denominator = 0;
    const start = seed * table.questions;
    for (let question = 0; question < table.questions; question++) {
      const drawn = counts[question] as number;
      numerator += drawn * (table.numerators[start + question] as number);
      denominator += drawn * (table.denominators[start + question] as number);
    }
    total += denominator === 0 ? 0 : numerator / denominator;
  }
  return total / seeds.length;
}

function bootstrap(tables: readonly FlatTable[], statistic: (values: readonly number[]) => number, options: BootstrapOptions): Interval {
  const { rng, samples = 2000, confidence = 0.95 } = options;
  const { seeds, questions } = tables[0] as FlatTable;
  const drawnSeeds = Int32Array.from({ length: seeds }, (_, index) => index);
  const counts = new Float64Array(questions).fill(1);
  const value = () => statistic(tables.map((table) => metric(table, drawnSeeds, counts)));
  const mean = value();
  const values = new Float64Array(samples);
  for (let sample = 0; sample < samples; sample++) {
    for (let seed = 0; seed < seeds; seed++) drawnSeeds[seed] = rng.integer(seeds);
    counts.fill(0);
    for (let draw = 0; draw < questions; draw++) {
      const question = rng.integer(questions);
      counts[question] = (counts[question] as number) + 1;
    }
    values[sample] = value();
  }
  values.sort();
  return { mean, low: quantile(values, (1 - confidence) / 2), high: quantile(values, (1 + confidence) / 2) };
}

/** The quantile of sorted values, linear between neighbours. */
function quantile(sorted: Float64Array, share: number): number {
  const position = share * (sorted.length - 1);
  const below = Math.floor(position);
  const above = Math.min(below + 1, sorted.length - 1);
  return (sorted[below] as number) + (position - below) * ((sorted[above] as number) - (sorted[below] as number));
}
