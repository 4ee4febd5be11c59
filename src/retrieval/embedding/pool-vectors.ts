/** How a sequence's token vectors become its one vector. */
export type Pooling = "mean" | "cls" | "last";

/**
 * Pools one sequence of a padded batch.
 * @param hidden Token vectors, row by row: [batch, longest, width].
 * @param row Which sequence. @param length Its tokens; at least 1.
 */
export function poolTokens(
  hidden: Float32Array,
  { row, length, longest, width }: { readonly row: number; readonly length: number; readonly longest: number; readonly width: number },
  pooling: Pooling,
): Float32Array {
  const start = row * longest * width;
  if (pooling !== "mean") {
    const token = start + (pooling === "cls" ? 0 : length - 1) * width;
    return hidden.slice(token, token + width);
  }
  const sum = new Float64Array(width);
  for (let token = 0; token < length; token++) {
    const offset = start + token * width;
    for (let index = 0; index < width; index++) sum[index] = (sum[index] as number) + (hidden[offset + index] as number);
  }
  return Float32Array.from(sum, (value) => value / length);
}

/** Scales a vector to unit length in place; one of zeros stays. */
export function scaleToUnit(vector: Float32Array): void {
  let squares = 0;
  for (const value of vector) squares += value * value;
  if (squares === 0) return;
  const scale = 1 / Math.sqrt(squares);
  for (let index = 0; index < vector.length; index++) vector[index] = (vector[index] as number) * scale;
}
