/**
 * What every vector index asks of a search.
 * @throws RangeError for a query of another length or with values that are no numbers, and for a `topK` that is no positive whole number.
 */
export function checkQueries(queries: readonly Float32Array[], topK: number, dimensions: number): void {
  if (!Number.isInteger(topK) || topK < 1) throw new RangeError(`topK: expected a positive whole number, got ${topK}`);
  queries.forEach((query, index) => {
    if (query.length !== dimensions) throw new RangeError(`query ${index} has ${query.length} dimensions, the index ${dimensions}`);
    let square = 0;
    for (const value of query) square += value * value;
    if (square < 1e36) return;
    const place = query.findIndex((value) => !Number.isFinite(value));
    const fault = place < 0 ? "is longer than 1e18" : `holds ${query[place]} at dimension ${place}`;
    throw new RangeError(`query ${index} ${fault}: check the embedder`);
  });
}
