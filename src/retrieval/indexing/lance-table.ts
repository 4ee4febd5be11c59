/** What a table of vectors looks like, and rows for it. */
import type * as Lance from "@lancedb/lancedb";
import type * as Arrow from "apache-arrow";
import { DataError } from "../../errors.ts";
import { type LancePlace, lanceModules, storage } from "./lance-place.ts";

/** Opens the table of a place; undefined where there is none. */
export async function openLanceTable({ connection, table, name }: LancePlace): Promise<Lance.Table | undefined> {
  return storage(name, "can't be opened", async () => {
    // Names come sorted, and not all at once: a page that begins right before ours has it.
    const names = await connection.tableNames({ startAfter: table.slice(0, -1), limit: 1000 });
    return names.includes(table) ? connection.openTable(table) : undefined;
  });
}

/** @throws DataError when the table doesn't hold vectors of so many dimensions. */
export async function checkTable(table: Lance.Table, { name }: LancePlace, dimensions: number): Promise<void> {
  const schema = await storage(name, "can't be read", () => table.schema());
  const wanted = lanceSchema(dimensions);
  const told = (fields: readonly { readonly name: string; readonly type: unknown }[]) =>
    fields.map((field) => `${field.name} ${field.type}`).join(", ");
  const [found, expected] = [told(schema.fields), told(wanted.fields)];
  if (found !== expected) {
    throw new DataError(`${name} has columns ${found}; the index's are ${expected}: name another location, or build it again with --fresh`);
  }
}

/** Columns of a table: the row's number and its vector. */
export function lanceSchema(dimensions: number): Arrow.Schema {
  const { arrow } = lanceModules();
  const vector = new arrow.FixedSizeList(dimensions, new arrow.Field("item", new arrow.Float32(), true));
  return new arrow.Schema([new arrow.Field("row", new arrow.Uint32(), false), new arrow.Field("vector", vector, false)]);
}

/** Vectors as rows of a table, numbered from `first`. */
export function lanceRows(vectors: Float32Array, first: number, dimensions: number): Arrow.Table {
  const { arrow } = lanceModules();
  const schema = lanceSchema(dimensions);
  const length = vectors.length / dimensions;
  const [row, vector] = schema.fields as [Arrow.Field<Arrow.Uint32>, Arrow.Field<Arrow.FixedSizeList<Arrow.Float32>>];
  const numbers = arrow.makeData({ type: row.type, length, data: Uint32Array.from({ length }, (_, index) => first + index) });
  const child = arrow.makeData({ type: new arrow.Float32(), length: vectors.length, data: vectors });
  const lists = arrow.makeData({ type: vector.type, length, nullCount: 0, child });
  const data = arrow.makeData({ type: new arrow.Struct(schema.fields), length, nullCount: 0, children: [numbers, lists] });
  return new arrow.Table(schema, new arrow.RecordBatch(schema, data));
}
