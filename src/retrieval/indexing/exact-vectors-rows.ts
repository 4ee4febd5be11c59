/** What is known of the rows of a block besides their values. */
import type { Metric } from "../../config.ts";
import { DataError } from "../../errors.ts";
import type { BlockProducts } from "./exact-vectors-graph.ts";
import type { VectorBlock } from "./stored-vectors.ts";

/** Vectors longer than this can't be compared in float32. */
const greatestNorm = 1e18;
/** The square of a norm so small that float32 tells its direction badly. */
const tinySquare = 1e-28;

/** What a scan needs to know of the rows of a block. */
export interface BlockFacts {
  /** At least the norm of the longest row. */
  readonly greatestNorm: number;
  /** cosine: 1 / norm of every row, 0 for a row of zeros; l2: half its square. */
  readonly terms: Float32Array | undefined;
  /** Rows (within the block) whose approximate scores mean nothing. */
  readonly unclear: readonly number[];
}

/** @throws DataError naming file and row of a vector that is none. */
export async function factsOf(block: VectorBlock, metric: Metric, products: BlockProducts, file: string): Promise<BlockFacts> {
  const squares = await products.squares(block);
  const dimensions = block.values.length / squares.length;
  const unclear: number[] = [];
  let greatest = 0;
  for (let row = 0; row < block.rows; row++) {
    const square = squares[row] as number;
    if (!(square < greatestNorm ** 2)) throw noVector(block, row, dimensions, file);
    if (square > greatest) greatest = square;
    if (metric === "cosine" && square < tinySquare && block.values.subarray(row * dimensions, (row + 1) * dimensions).some(Boolean)) {
      unclear.push(row);
    }
  }
  // The sum of squares is itself rounded.
  return { greatestNorm: Math.sqrt(greatest) * (1 + dimensions * 2 ** -23), terms: termsOf(squares, metric), unclear };
}

function termsOf(squares: Float32Array, metric: Metric): Float32Array | undefined {
  if (metric === "inner-product") return undefined;
  return squares.map((square) => (metric === "l2" ? square / 2 : square < tinySquare ? 0 : 1 / Math.sqrt(square)));
}

function noVector({ first, values }: VectorBlock, row: number, dimensions: number, file: string): DataError {
  const place = values.subarray(row * dimensions, (row + 1) * dimensions).findIndex((value) => !Number.isFinite(value));
  const fault =
    place >= 0
      ? `holds ${values[row * dimensions + place]} at dimension ${place}`
      : `is longer than ${greatestNorm.toExponential()}, which float32 can't compare`;
  return new DataError(`the vector of row ${first + row} (counted from 0) ${fault}: build the index again`, { file });
}

/** The least score, in a scan's approximate terms, that equals a metric's `score` for a query of this norm. */
export function approximateScore(metric: Metric, score: number, queryNorm: number): number {
  // Approximate: product - square of row / 2. Score: 2 product - square of row - square of query.
  return metric === "l2" ? (score + queryNorm ** 2) / 2 : score;
}

/** How far an approximate score may be from the truth: float32 rounding of sums of products, in whatever order, twice over. */
export function approximationError(metric: Metric, dimensions: number, rowNorm: number, queryNorm: number): number {
  const rounding = (dimensions + 16) * 2 ** -23;
  // What underflows.
  const least = dimensions * 2 ** -124;
  if (metric === "cosine") return rounding;
  if (metric === "inner-product") return rounding * rowNorm * queryNorm + least;
  // Where rows are next to nothing beside the query, the true score's own rounding counts.
  return rounding * rowNorm * (rowNorm + queryNorm) + 2 ** -50 * queryNorm ** 2 + least;
}

/** The score of a row, in double precision and a fixed order of operations: the same in every batch, on every machine. */
export function exactScore(metric: Metric, values: Float32Array, row: number, query: Float32Array, queryNorm: number): number {
  const start = row * query.length;
  if (metric === "l2") return 0 - squaredDistance(values, start, query);
  const product = dotProduct(values, start, query, 0, query.length);
  if (metric === "inner-product") return product;
  const square = dotProduct(values, start, values, start, query.length);
  return square === 0 || queryNorm === 0 ? 0 : product / (Math.sqrt(square) * queryNorm);
}

/** The inner product of two stretches. Four sums at once: a processor need not wait for one addition to begin the next. */
export function dotProduct(left: Float32Array, leftStart: number, right: Float32Array, rightStart: number, length: number): number {
  let first = 0;
  let second = 0;
  let third = 0;
  let fourth = 0;
  let index = 0;
  for (; index + 3 < length; index += 4) {
    first += (left[leftStart + index] as number) * (right[rightStart + index] as number);
    second += (left[leftStart + index + 1] as number) * (right[rightStart + index + 1] as number);
    third += (left[leftStart + index + 2] as number) * (right[rightStart + index + 2] as number);
    fourth += (left[leftStart + index + 3] as number) * (right[rightStart + index + 3] as number);
  }
  for (; index < length; index++) first += (left[leftStart + index] as number) * (right[rightStart + index] as number);
  return first + second + (third + fourth);
}

function squaredDistance(values: Float32Array, start: number, query: Float32Array): number {
  let even = 0;
  let odd = 0;
  let index = 0;
  for (; index + 1 < query.length; index += 2) {
    const one = (values[start + index] as number) - (query[index] as number);
    const other = (values[start + index + 1] as number) - (query[index + 1] as number);
    even += one * one;
    odd += other * other;
  }
  if (index < query.length) even += ((values[start + index] as number) - (query[index] as number)) ** 2;
  return even + odd;
}
