import type { Candidate, Document } from "../../types.ts";
import { tieBreakers, topDocuments } from "./top-documents.ts";

/** Exact inner-product search in memory: one row of a flat matrix a document, every row scored for every query. */
export class ExactIndex {
  private readonly matrix: Float32Array;
  private readonly ties: Uint32Array;
  private readonly dimensions: number;

  /** @param vectors one a document, all of the same length. */
  constructor(
    private readonly documents: readonly Document[],
    vectors: readonly Float32Array[],
  ) {
    if (documents.length !== vectors.length) throw new RangeError(`${documents.length} documents but ${vectors.length} vectors`);
    this.dimensions = vectors[0]?.length ?? 0;
    this.matrix = new Float32Array(documents.length * this.dimensions);
    vectors.forEach((vector, row) => {
      if (vector.length !== this.dimensions)
        throw new RangeError(`vector ${row} has ${vector.length} dimensions, expected ${this.dimensions}`);
      this.matrix.set(vector, row * this.dimensions);
    });
    this.ties = tieBreakers(documents);
  }

  search(query: Float32Array, topK: number): Candidate[] {
    if (this.documents.length > 0 && query.length !== this.dimensions) {
      throw new RangeError(`the query has ${query.length} dimensions, the index ${this.dimensions}`);
    }
    const scores = new Float64Array(this.documents.length);
    for (let row = 0, offset = 0; row < scores.length; row++, offset += this.dimensions) {
      let product = 0;
      for (let index = 0; index < this.dimensions; index++) product += (this.matrix[offset + index] as number) * (query[index] as number);
      scores[row] = product;
    }
    return topDocuments(this.documents, scores, this.ties, topK);
  }
}
