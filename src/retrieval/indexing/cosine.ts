/** The cosine of two vectors; 0 where one has no length, 1 where both have none. */
export function cosine(left: Float32Array, right: Float32Array): number {
  let [product, leftSquares, rightSquares] = [0, 0, 0];
  for (let index = 0; index < left.length; index++) {
    const [a, b] = [left[index] as number, right[index] as number];
    product += a * b;
    leftSquares += a * a;
    rightSquares += b * b;
  }
  if (leftSquares === 0 || rightSquares === 0) return leftSquares === rightSquares ? 1 : 0;
  return product / Math.sqrt(leftSquares * rightSquares);
}
