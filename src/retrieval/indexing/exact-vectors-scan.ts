import type { Metric } from "../../config.ts";
import { InfrastructureError } from "../../errors.ts";
import { Candidates } from "./exact-vectors-candidates.ts";
import { type BlockProducts, createBlockProducts } from "./exact-vectors-graph.ts";
import { approximateScore, approximationError, type BlockFacts, dotProduct, exactScore, factsOf } from "./exact-vectors-rows.ts";
import { groupRows, type StoredVectors, type VectorBlock } from "./stored-vectors.ts";
import { TopHits } from "./top-hits.ts";
import type { Hit } from "./vector-index.ts";

/** A query under way. */
interface Search {
  readonly vector: Float32Array;
  readonly norm: number;
  readonly best: TopHits;
}

/**
 * Exact search over a file of vectors. Each pass reads every row once, for all its queries: float32 products find the rows that may be
 * among the best, allowing for all the rounding there can be; those are scored in double precision, which decides.
 */
export class ExactScan {
  /** By block; 4 bytes a row where the metric needs its norm. */
  private readonly facts: BlockFacts[] = [];

  private constructor(
    private readonly vectors: StoredVectors,
    private readonly metric: Metric,
    private readonly products: BlockProducts,
  ) {}

  static async create(vectors: StoredVectors, metric: Metric, threads: number): Promise<ExactScan> {
    return new ExactScan(vectors, metric, await createBlockProducts(metric, vectors.dimensions, threads));
  }

  /** Reads and checks every row, so that those to be held in memory are. @throws DataError naming the row of a vector that is none. */
  async load(): Promise<void> {
    for await (const block of this.vectors.blocks()) await this.factsOf(block);
  }

  /**
   * The best rows of each query.
   * @param stopped Asked before every block; gives up where it says so.
   */
  async search(queries: readonly Float32Array[], topK: readonly number[], stopped: () => boolean = () => false): Promise<Hit[][]> {
    const searches = queries.map((vector, index): Search => {
      const best = new TopHits(Math.min(topK[index] as number, this.vectors.rows));
      return { vector, norm: Math.sqrt(dotProduct(vector, 0, vector, 0, vector.length)), best };
    });
    const transposed = this.transposed(searches);
    for await (const block of this.vectors.blocks()) {
      if (stopped()) throw new InfrastructureError(`${this.vectors.file}: the index was closed`);
      await this.scan(block, searches, transposed);
    }
    return searches.map(({ best }) => best.sorted());
  }

  async close(): Promise<void> {
    await this.products.close();
    await this.vectors.close();
  }

  private async factsOf(block: VectorBlock): Promise<BlockFacts> {
    const known = this.facts[block.index];
    if (known !== undefined) return known;
    const facts = await factsOf(block, this.metric, this.products, this.vectors.file);
    this.facts[block.index] = facts;
    return facts;
  }

  private async scan(block: VectorBlock, searches: readonly Search[], transposed: Float32Array): Promise<void> {
    const { metric, vectors } = this;
    const facts = await this.factsOf(block);
    const { scores, highest } = await this.products.scores(block, facts.terms, transposed, searches.length);
    searches.forEach(({ vector, norm, best }, query) => {
      const error = approximationError(metric, vectors.dimensions, facts.greatestNorm, norm);
      const candidates = new Candidates(best.topK, approximateScore(metric, best.threshold, norm) - error, error);
      for (let group = 0, place = query; place < highest.length; group++, place += searches.length) {
        if ((highest[place] as number) < candidates.floor) continue;
        const end = Math.min(block.rows, (group + 1) * groupRows);
        for (let row = group * groupRows; row < end; row++) {
          const score = scores[row * searches.length + query] as number;
          if (score >= candidates.floor) candidates.add(row, score);
        }
      }
      const offer = (row: number) => best.add(block.first + row, exactScore(metric, block.values, row, vector, norm));
      const unclear = new Set(facts.unclear);
      for (const row of candidates.finish()) if (!unclear.has(row)) offer(row);
      for (const row of unclear) offer(row);
    });
  }

  /** Queries as columns; of unit length for the cosine. */
  private transposed(searches: readonly Search[]): Float32Array {
    const { dimensions } = this.vectors;
    const columns = new Float32Array(dimensions * searches.length);
    searches.forEach(({ vector, norm }, query) => {
      const factor = this.metric !== "cosine" ? 1 : norm === 0 ? 0 : 1 / norm;
      for (let index = 0; index < dimensions; index++) columns[index * searches.length + query] = (vector[index] as number) * factor;
    });
    return columns;
  }
}
