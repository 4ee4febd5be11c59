import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Metric } from "../../config.ts";
import { ConfigError, DataError, InfrastructureError } from "../../errors.ts";
import { Rng } from "../../rng.ts";
import { openLanceIndex, openLanceWriter } from "./lance-index.ts";
import { lanceEffort } from "./lance-layout.ts";
import type { SizedVectorSettings } from "./manifest.ts";

const dimensions = 16;
let folder: string;
let folders = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "cosearch-lance-"));
});
afterAll(async () => rm(folder, { recursive: true, force: true }));

async function emptyFolder(): Promise<string> {
  const path = join(folder, `index-${folders++}`);
  await mkdir(path);
  return path;
}

/** Rows around a few centres; `unit`: of length one. */
function clusteredRows(rows: number, name: string, unit = true): Float32Array {
  const rng = Rng.stream(1, "lance", name);
  const centres = Rng.stream(1, "lance", "centres");
  const middle = Float32Array.from({ length: 20 * dimensions }, () => centres.uniform() - 0.5);
  const vectors = new Float32Array(rows * dimensions);
  for (let row = 0; row < rows; row++) {
    const cluster = Math.floor(rng.uniform() * 20) * dimensions;
    const vector = vectors.subarray(row * dimensions, (row + 1) * dimensions);
    for (let index = 0; index < dimensions; index++) {
      vector[index] = (middle[cluster + index] as number) + 0.5 * (rng.uniform() - 0.5);
    }
    const length = unit ? Math.hypot(...vector) : 1;
    for (let index = 0; index < dimensions; index++) vector[index] = (vector[index] as number) / length;
  }
  return vectors;
}

function scoreOf(metric: Metric, left: Float32Array, right: Float32Array): number {
  let [dot, squares, a, b] = [0, 0, 0, 0];
  left.forEach((value, index) => {
    const other = right[index] as number;
    dot += value * other;
    squares += (value - other) ** 2;
    a += value ** 2;
    b += other ** 2;
  });
  if (metric === "l2") return -squares;
  return metric === "cosine" ? dot / Math.sqrt(a * b) : dot;
}

function rowOf(vectors: Float32Array, row: number): Float32Array {
  return vectors.subarray(row * dimensions, (row + 1) * dimensions);
}

function exactTop(metric: Metric, vectors: Float32Array, query: Float32Array, topK: number) {
  return Array.from({ length: vectors.length / dimensions }, (_, row) => ({ row, score: scoreOf(metric, rowOf(vectors, row), query) }))
    .sort((left, right) => right.score - left.score || left.row - right.row)
    .slice(0, topK);
}

async function build(settings: SizedVectorSettings, vectors: Float32Array): Promise<string> {
  const path = await emptyFolder();
  const writer = await openLanceWriter(settings, path);
  await writer.append(vectors);
  await writer.finish();
  await writer.close();
  return path;
}

const rows = 2000;

describe.each(["ivf-pq", "ivf-rq", "hnsw"] as const)("%s", (kind) => {
  it.each(["inner-product", "cosine", "l2"] as const)("finds nearly what exact search finds, with its scores (%s)", async (metric) => {
    const unit = kind === "hnsw" && metric === "inner-product";
    const vectors = clusteredRows(rows, "rows", unit);
    const queries = clusteredRows(20, "queries", false);
    const settings: SizedVectorSettings = { kind, metric, dimensions };
    const index = await openLanceIndex(settings, await build(settings, vectors));
    const asked = Array.from({ length: 20 }, (_, query) => rowOf(queries, query));
    const found = await index.search(asked, 20);
    let shared = 0;
    found.forEach((hits, query) => {
      expect(hits).toHaveLength(20);
      const truth = new Set(exactTop(metric, vectors, asked[query] as Float32Array, 20).map(({ row }) => row));
      shared += hits.filter(({ row }) => truth.has(row)).length;
      hits.forEach(({ row, score }, rank) => {
        expect(score).toBeCloseTo(scoreOf(metric, rowOf(vectors, row), asked[query] as Float32Array), 5);
        expect(score).toBeLessThanOrEqual(hits[rank - 1]?.score ?? Number.POSITIVE_INFINITY);
      });
    });
    expect(shared / 400).toBeGreaterThan(0.95);
    expect(index).toMatchObject({ rows, dimensions, metric });
    await index.close();
  });
});

const settings: SizedVectorSettings = { kind: "ivf-rq", metric: "inner-product", dimensions };

describe("a small table", () => {
  it("is searched exactly, equal scores in row order, no more rows than there are", async () => {
    const one = clusteredRows(1, "one");
    const index = await openLanceIndex(settings, await build(settings, Float32Array.from([...one, ...one, ...one])));
    const [hits] = await index.search([one], 10);
    expect(hits?.map(({ row }) => row)).toEqual([0, 1, 2]);
    const [nothing] = await index.search([new Float32Array(dimensions)], 2);
    expect(nothing).toEqual([
      { row: 0, score: 0 },
      { row: 1, score: 0 },
    ]);
    await expect(index.search([one], 0)).rejects.toThrow("topK: expected a positive whole number, got 0");
    await expect(index.search([one, new Float32Array(3)], 1)).rejects.toThrow("query 1 has 3 dimensions, the index 16");
    await expect(index.search([one.map(() => Number.NaN)], 1)).rejects.toThrow("query 0 holds NaN at dimension 0: check the embedder");
    await index.close();
  });

  it("may be empty", async () => {
    const index = await openLanceIndex(settings, await build(settings, new Float32Array(0)));
    expect(await index.search([clusteredRows(1, "one")], 5)).toEqual([[]]);
    await index.close();
  });
});

describe("a writer", () => {
  it("goes on where another ended without a word", async () => {
    const path = await emptyFolder();
    const vectors = clusteredRows(1500, "rows");
    const first = await openLanceWriter(settings, path);
    await first.append(vectors.subarray(0, 700 * dimensions));
    await expect(first.append(new Float32Array(dimensions + 1))).rejects.toThrow(RangeError);
    // A data file whose commit a kill prevented.
    const stray = join(path, "lance", "vectors.lance", "data", "0".repeat(24).concat("stray.lance"));
    await writeFile(stray, "half a file");
    const second = await openLanceWriter(settings, path);
    expect(second.rows).toBe(700);
    await second.append(vectors.subarray(700 * dimensions));
    expect(second.rows).toBe(1500);
    await second.finish();
    const told: number[] = [];
    await second.finish((done) => told.push(done));
    expect(told).toEqual([0, 1500]);
    await second.close();
    await first.close();
    expect(await readdir(join(path, "lance", "vectors.lance", "data"))).toHaveLength(1);
    expect(await readdir(join(path, "lance", "vectors.lance", "_indices"))).toHaveLength(1);
    const index = await openLanceIndex(settings, path);
    const [hits] = await index.search([rowOf(vectors, 1234)], 1);
    expect(hits?.[0]?.row).toBe(1234);
    await index.close();
  });

  it("refuses what an index of its kind can't take", async () => {
    const path = await emptyFolder();
    const open = (changes: Partial<SizedVectorSettings>) => openLanceWriter({ ...settings, ...changes }, path);
    await expect(open({ kind: "ivf-pq", subVectors: 5 })).rejects.toThrow(/subVectors: 5 doesn't divide the 16/);
    await expect(open({ kind: "ivf-pq", bits: 3 })).rejects.toThrow(/4 or 8 bits/);
    await expect(open({ dimensions: 12 })).rejects.toThrow(ConfigError);
    const writer = await open({ kind: "hnsw" });
    await expect(writer.append(new Float32Array(dimensions).fill(1))).rejects.toThrow(/vector 1 has length 4\.000/);
    expect(writer.rows).toBe(0);
    await writer.close();
    await expect(openLanceIndex({ ...settings, dimensions: 24 }, path)).rejects.toThrow(DataError);
  });
});

describe("a location", () => {
  it("is shared by indexes, each with a table of its own", async () => {
    const [one, other, shared] = [await emptyFolder(), await emptyFolder(), await emptyFolder()];
    const placed = { ...settings, location: shared };
    for (const [path, count] of [
      [one, 3],
      [other, 5],
    ] as const) {
      const writer = await openLanceWriter(placed, path);
      expect(writer.rows).toBe(0);
      await writer.append(clusteredRows(count, "rows"));
      await writer.close();
    }
    const index = await openLanceIndex(placed, one);
    expect(index.rows).toBe(3);
    await index.close();
    expect(JSON.parse(await readFile(join(one, "lance", "table.json"), "utf8"))).toEqual({ table: expect.stringMatching(/^vectors-/) });
    await expect(openLanceIndex(placed, await emptyFolder())).rejects.toThrow(/table\.json: is missing/);
  });

  it("of LanceDB Cloud needs a key", async () => {
    const cloud = { ...settings, location: "db://corpus", apiKeyVariable: "NO_SUCH_KEY" };
    await expect(openLanceWriter(cloud, await emptyFolder())).rejects.toThrow(/environment variable NO_SUCH_KEY/);
  });

  it.skipIf(process.env["AZURE_STORAGE_ACCOUNT_NAME"] !== undefined)(
    "in object storage that can't be reached is named, and what it needs",
    async () => {
      const opening = openLanceWriter({ ...settings, location: "az://container/corpus" }, await emptyFolder());
      await expect(opening).rejects.toThrow(InfrastructureError);
      await expect(opening).rejects.toThrow(
        /^az:\/\/container\/corpus\/vectors-\w+: vectors can't be reached: .*AZURE_STORAGE_ACCOUNT_KEY/s,
      );
    },
  );

  it("without a table is named", async () => {
    const path = await emptyFolder();
    await expect(openLanceIndex(settings, path)).rejects.toThrow(`there is no table vectors at ${join(path, "lance")}`);
  });
});

it("looks harder for few results and in many partitions", () => {
  expect(lanceEffort(settings, 1_000_000, 50)).toEqual({ probes: 63, refine: 4 });
  expect(lanceEffort(settings, 1_000_000, 3)).toEqual({ probes: 63, refine: 67 });
  expect(lanceEffort({ ...settings, probes: 5000, refine: 2 }, 10_000, 50)).toEqual({ probes: 78, refine: 2 });
  expect(lanceEffort({ ...settings, kind: "hnsw" }, 1000, 50)).toEqual({ probes: 1, refine: 2, ef: 200 });
});
