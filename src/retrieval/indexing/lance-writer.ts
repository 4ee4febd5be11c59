import type * as Lance from "@lancedb/lancedb";
import { ConfigError } from "../../errors.ts";
import { checkLayout, fewestIndexedRows, lanceIndex, needsUnitVectors } from "./lance-layout.ts";
import { connectLance, type LancePlace, storage } from "./lance-place.ts";
import { checkTable, lanceRows, lanceSchema, openLanceTable } from "./lance-table.ts";
import type { SizedVectorSettings } from "./manifest.ts";
import type { VectorWriter } from "./vector-index.ts";

/** Appends after which small files are joined and old versions removed: every version lists all files. */
const compactEvery = 256;
/** A vector that is farther from length one than this has another. */
const unitTolerance = 1e-3;
const column = "vector";
/** LanceDB Cloud builds indexes on its own; a day is more than any takes. */
const cloudSeconds = 86_400;

/**
 * A writer of a LanceDB table. An append is one commit: after a kill, a half-written one is not in the table (what it left on the disk is
 * removed by `finish`, below the index's own folder only). A kill loses nothing that was committed; whether a power cut does is up
 * to the file system. The rows are the same however often a build was killed; the index over them isn't: LanceDB draws the first centres
 * of its partitions and takes no seed.
 * @throws ConfigError for settings or keys that can't be; DataError when the table there is another one; InfrastructureError.
 */
export async function openLanceWriter(settings: SizedVectorSettings, folder: string): Promise<VectorWriter> {
  checkLayout(settings);
  const place = await connectLance(settings, folder, true);
  try {
    const table =
      (await openLanceTable(place)) ??
      (await storage(place.name, "can't be written", () =>
        place.connection.createEmptyTable(place.table, lanceSchema(settings.dimensions)),
      ));
    await checkTable(table, place, settings.dimensions);
    const rows = await storage(place.name, "can't be read", () => table.countRows());
    return new LanceWriter(table, place, settings, rows);
  } catch (error) {
    place.connection.close();
    throw error;
  }
}

class LanceWriter implements VectorWriter {
  /** The act before: one at a time. */
  private previous: Promise<void> = Promise.resolve();
  private appends = 0;

  constructor(
    private readonly table: Lance.Table,
    private readonly place: LancePlace,
    private readonly settings: SizedVectorSettings,
    private written: number,
  ) {}

  get rows(): number {
    return this.written;
  }

  /** @throws RangeError for half a row; ConfigError for a vector that the index can't take; InfrastructureError. Nothing of these rows is kept. */
  append(vectors: Float32Array): Promise<void> {
    if (vectors.length % this.settings.dimensions !== 0) {
      return Promise.reject(new RangeError(`${vectors.length} values are not whole rows of ${this.settings.dimensions}`));
    }
    return this.inTurn(() => this.write(vectors));
  }

  finish(onProgress?: (done: number, total: number) => void): Promise<void> {
    return this.inTurn(async () => {
      const rows = this.written;
      onProgress?.(0, rows);
      const wantsIndex = rows >= fewestIndexedRows;
      if (!wantsIndex || !(await this.isIndexed())) {
        // First the files, then the index: an index would have to follow its rows into the joined files.
        await this.compact();
        if (wantsIndex) await this.buildIndex(rows);
      }
      onProgress?.(rows, rows);
    });
  }

  async close(): Promise<void> {
    await this.previous;
    this.table.close();
    this.place.connection.close();
  }

  private async write(vectors: Float32Array): Promise<void> {
    const { dimensions } = this.settings;
    if (vectors.length === 0) return;
    if (needsUnitVectors(this.settings)) checkUnit(vectors, this.written, dimensions);
    await this.store(() => this.table.add(lanceRows(vectors, this.written, dimensions)));
    this.written += vectors.length / dimensions;
    if (++this.appends % compactEvery === 0) await this.compact();
  }

  private async buildIndex(rows: number): Promise<void> {
    const wait = this.place.isCloud ? { waitTimeoutSeconds: cloudSeconds } : {};
    await this.store(() => this.table.createIndex(column, { config: lanceIndex(this.settings, rows), replace: true, ...wait }));
  }

  /** Whether a finished index covers every row. */
  private async isIndexed(): Promise<boolean> {
    const indexes = await this.store(() => this.table.listIndices());
    return indexes.some(({ columns, numIndexedRows }) => columns.includes(column) && numIndexedRows === this.written);
  }

  /** Joins small files and removes what no version needs; LanceDB Cloud does so itself. */
  private async compact(): Promise<void> {
    if (this.place.isCloud) return;
    const { isPrivate } = this.place;
    await this.store(() => this.table.optimize({ cleanupOlderThan: new Date(), deleteUnverified: isPrivate }));
  }

  private store<Value>(act: () => Promise<Value>): Promise<Value> {
    return storage(this.place.name, "can't be written", act);
  }

  private inTurn(act: () => Promise<void>): Promise<void> {
    const done = this.previous.then(act);
    this.previous = done.catch(() => undefined);
    return done;
  }
}

function checkUnit(vectors: Float32Array, first: number, dimensions: number): void {
  for (let start = 0; start < vectors.length; start += dimensions) {
    let squares = 0;
    for (let index = start; index < start + dimensions; index++) squares += (vectors[index] as number) ** 2;
    const length = Math.sqrt(squares);
    if (Math.abs(length - 1) > unitTolerance) {
      throw new ConfigError(
        `hnsw searches by inner product only among vectors of length 1, vector ${first + start / dimensions + 1} has length ${length.toPrecision(4)}: choose retrieval.index.metric cosine, an embedder that normalises, or retrieval.index.kind ivf-rq`,
      );
    }
  }
}
