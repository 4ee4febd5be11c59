/** Approximate vector search with LanceDB. Loaded only when an index needs it. */
import { availableParallelism } from "node:os";
import type * as Lance from "@lancedb/lancedb";
import pLimit from "p-limit";
import { DataError } from "../../errors.ts";
import { checkQueries } from "./check-queries.ts";
import { lanceDistance, lanceEffort, needsUnitVectors } from "./lance-layout.ts";
import { connectLance, type LancePlace, storage } from "./lance-place.ts";
import { checkTable, openLanceTable } from "./lance-table.ts";
import type { SizedVectorSettings } from "./manifest.ts";
import type { Hit, VectorIndex } from "./vector-index.ts";

export { openLanceWriter } from "./lance-writer.ts";

/**
 * Opens the vectors that `openLanceWriter` wrote. Scores come from the full vectors (single precision), not from the index's codes; which
 * of several equal ones at the end of a list are in it is LanceDB's choice. The same index gives the same answers; two builds of the same
 * rows may differ in what they miss (see `openLanceWriter`). Memory: the codes of what is searched, up to a limit (see
 * `connectLance`), never the vectors themselves, which are read from the storage as they are needed.
 * @throws DataError when there is no such table; ConfigError for a key that is missing; InfrastructureError.
 */
export async function openLanceIndex(settings: SizedVectorSettings, folder: string): Promise<VectorIndex> {
  const place = await connectLance(settings, folder, false);
  try {
    const table = await openLanceTable(place);
    if (table === undefined) {
      throw new DataError(`there is no table ${place.table} at ${place.name.slice(0, -place.table.length - 1)}: build the index again`);
    }
    await checkTable(table, place, settings.dimensions);
    const rows = await storage(place.name, "can't be read", () => table.countRows());
    return new LanceIndex(table, place, settings, rows);
  } catch (error) {
    place.connection.close();
    throw error;
  }
}

class LanceIndex implements VectorIndex {
  readonly dimensions: number;
  readonly metric: SizedVectorSettings["metric"];
  /** LanceDB spreads one query over all cores; two a core keep them busy while one waits for the disk. */
  private readonly limit = pLimit(2 * availableParallelism());

  constructor(
    private readonly table: Lance.Table,
    private readonly place: LancePlace,
    private readonly settings: SizedVectorSettings,
    readonly rows: number,
  ) {
    this.dimensions = settings.dimensions;
    this.metric = settings.metric;
  }

  async search(queries: readonly Float32Array[], topK: number): Promise<Hit[][]> {
    checkQueries(queries, topK, this.dimensions);
    if (this.rows === 0) return queries.map(() => []);
    const wanted = Math.min(topK, this.rows);
    return this.limit.map(queries, (query) => this.searchOne(query, wanted));
  }

  async close(): Promise<void> {
    this.table.close();
    this.place.connection.close();
  }

  private async searchOne(query: Float32Array, topK: number): Promise<Hit[]> {
    const length = Math.hypot(...query);
    // Every row is equally near to nothing, which LanceDB can't tell.
    if (length === 0 && this.metric !== "l2") return Array.from({ length: topK }, (_, row) => ({ row, score: 0 }));
    const { probes, refine, ef } = lanceEffort(this.settings, this.rows, topK);
    const found = await storage(this.place.name, "can't be searched", () => {
      const search = this.table.query().nearestTo(query).column("vector").distanceType(lanceDistance(this.settings));
      if (ef !== undefined) search.ef(ef);
      return search.nprobes(probes).refineFactor(refine).limit(topK).select(["row", "_distance"]).toArrow();
    });
    const rows = found.getChild("row")?.toArray() as Uint32Array;
    const distances = found.getChild("_distance")?.toArray() as Float32Array;
    const scale = needsUnitVectors(this.settings) ? length : 1;
    return Array.from(rows, (row, index) => ({ row, score: this.score(distances[index] as number, scale) })).sort(
      (left, right) => right.score - left.score || left.row - right.row,
    );
  }

  /** LanceDB's distances: 1 - inner product, 1 - cosine, squared Euclidean distance. */
  private score(distance: number, scale: number): number {
    return this.metric === "l2" ? -distance : (1 - distance) * scale;
  }
}
