import { appendFile, mkdtemp, open, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Metric, metrics } from "../../config.ts";
import { Rng } from "../../rng.ts";
import { openExactIndex, openExactWriter } from "./exact-vectors.ts";
import { ExactScan } from "./exact-vectors-scan.ts";
import { StoredVectors } from "./stored-vectors.ts";
import type { Hit } from "./vector-index.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "exact-vectors-"));
});
afterAll(() => rm(folder, { recursive: true }));

let files = 0;
async function fileOf(vectors: readonly ArrayLike<number>[]): Promise<string> {
  const file = join(folder, `${files++}.f32`);
  await writeFile(file, new Uint8Array(Float32Array.from(vectors.flatMap((vector) => Array.from(vector))).buffer));
  return file;
}

/** Every score by the definition, sorted in full. */
function truth(vectors: readonly Float32Array[], query: Float32Array, metric: Metric, topK: number): Hit[] {
  const product = (left: Float32Array, right: Float32Array) =>
    left.reduce((sum, value, index) => sum + value * (right[index] as number), 0);
  const score = (vector: Float32Array) => {
    if (metric === "inner-product") return product(vector, query);
    if (metric === "l2") return -vector.reduce((sum, value, index) => sum + (value - (query[index] as number)) ** 2, 0);
    const norms = Math.sqrt(product(vector, vector)) * Math.sqrt(product(query, query));
    return norms === 0 ? 0 : product(vector, query) / norms;
  };
  const hits = vectors.map((vector, row) => ({ row, score: score(vector) }));
  return hits.sort((one, other) => other.score - one.score || one.row - other.row).slice(0, topK);
}

function expectHits(found: readonly Hit[], expected: readonly Hit[]): void {
  expect(found.map(({ row }) => row)).toEqual(expected.map(({ row }) => row));
  found.forEach(({ score }, place) => {
    const wanted = (expected[place] as Hit).score;
    expect(Math.abs(score - wanted)).toBeLessThanOrEqual(1e-12 * Math.max(1, Math.abs(wanted)));
  });
}

function randomVectors(count: number, dimensions: number, name: string): Float32Array[] {
  const rng = Rng.stream(1, name);
  return Array.from({ length: count }, () => Float32Array.from({ length: dimensions }, () => rng.uniform() - 0.5));
}

async function scanOf(file: string, dimensions: number, metric: Metric, memoryBytes = 0): Promise<ExactScan> {
  return ExactScan.create(await StoredVectors.open(file, dimensions, memoryBytes), metric, 1);
}

describe("an exact scan", () => {
  it.each(metrics)("%s: equals a full sort over several blocks, streamed and in memory", async (metric) => {
    const dimensions = 7;
    // Three blocks, the last one small, and a part of a group; near and exact duplicates across the blocks.
    const vectors = randomVectors(16_403, dimensions, "rows");
    for (let row = 0; row < 40; row++) vectors[16_000 + row] = Float32Array.from(vectors[row] as Float32Array);
    for (let row = 0; row < 40; row++) vectors[9000 + row] = (vectors[row] as Float32Array).map((value) => value * (1 + 2 ** -22));
    const queries = [...randomVectors(4, dimensions, "queries"), vectors[3] as Float32Array, new Float32Array(dimensions)];
    const file = await fileOf(vectors);
    for (const memoryBytes of [0, 1e9]) {
      const scan = await scanOf(file, dimensions, metric, memoryBytes);
      const found = await scan.search(
        queries,
        queries.map((_, index) => 10 * (index + 1)),
      );
      for (const [index, hits] of found.entries()) {
        const expected = truth(vectors, queries[index] as Float32Array, metric, 10 * (index + 1));
        // The scores of scaled duplicates differ in the last bit only, where the order of a sum counts.
        if (metric === "cosine") expect(hits.map(({ score }) => score.toFixed(12))).toEqual(expected.map(({ score }) => score.toFixed(12)));
        else expectHits(hits, expected);
      }
      await scan.close();
    }
  });

  it("equals a full sort for whatever values there are", async () => {
    const value = fc.oneof(
      { weight: 6, arbitrary: fc.integer({ min: -3, max: 3 }) },
      { weight: 2, arbitrary: fc.float({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 }) },
      { weight: 1, arbitrary: fc.constantFrom(0, -0, 1e-30, -1e-42, 2 ** -149, 1e15, 3.0000002) },
    );
    const vector = fc.array(value, { minLength: 3, maxLength: 3 }).map((values) => Float32Array.from(values));
    const some = fc.array(vector, { minLength: 1, maxLength: 70 });
    await fc.assert(
      fc.asyncProperty(some, vector, fc.constantFrom(...metrics), fc.integer({ min: 1, max: 9 }), async (vectors, query, metric, topK) => {
        const scan = await scanOf(await fileOf(vectors), 3, metric);
        const [found] = (await scan.search([query], [topK])) as [Hit[]];
        const best = truth(vectors, query, metric, vectors.length);
        await scan.close();
        expect(found).toHaveLength(Math.min(topK, vectors.length));
        found.forEach(({ row, score }, place) => {
          const own = (best.find((hit) => hit.row === row) as Hit).score;
          const wanted = (best[place] as Hit).score;
          const allowed = 1e-12 * Math.max(Math.abs(wanted), ...best.map((hit) => Math.abs(hit.score)), 1e-300);
          expect(Math.abs(score - own)).toBeLessThanOrEqual(allowed);
          expect(Math.abs(score - wanted)).toBeLessThanOrEqual(allowed);
        });
      }),
      { numRuns: 60 },
    );
  });

  it.each(metrics)("%s: tells rows apart that float32 products can't", async (metric) => {
    const [base, query] = randomVectors(2, 64, "base") as [Float32Array, Float32Array];
    const rng = Rng.stream(1, "changes");
    // Rows that differ by a few units in the last place of a value or two.
    const vectors = Array.from({ length: 9000 }, () => {
      const vector = Float32Array.from(base);
      for (const place of [rng.integer(64), rng.integer(64)]) vector[place] = (vector[place] as number) * (1 + rng.integer(16) * 2 ** -23);
      return vector;
    });
    const scan = await scanOf(await fileOf(vectors), 64, metric);
    const [found] = (await scan.search([query], [20])) as [Hit[]];
    await scan.close();
    const expected = truth(vectors, query, metric, 20);
    // All but the last digits of a double, where the order of a sum counts.
    found.forEach(({ score }, place) => {
      expect(Math.abs(score - (expected[place] as Hit).score)).toBeLessThan(1e-13);
    });
  });

  it("cosine: knows the direction of vectors that are next to nothing", async () => {
    const [query] = randomVectors(1, 8, "query") as [Float32Array];
    const vectors = [...randomVectors(300, 8, "rows"), query.map((value) => value * 1e-20), new Float32Array(8)];
    const scan = await scanOf(await fileOf(vectors), 8, "cosine");
    const [[best], all] = (await scan.search([query, query.map((value) => value * 1e-30)], [1, 400])) as [Hit[], Hit[]];
    await scan.close();
    expect(best?.row).toBe(300);
    expect(best?.score).toBeCloseTo(1, 6);
    expect(all.find(({ row }) => row === 301)?.score).toBe(0);
    expect(all).toHaveLength(302);
  });

  it("gives every query bit for bit what it gets alone, and keeps equal rows in row order", async () => {
    const vectors = randomVectors(300, 33, "rows");
    const alike = Array.from({ length: 500 }, () => Float32Array.from(vectors[0] as Float32Array));
    const scan = await scanOf(await fileOf([...vectors, ...alike]), 33, "cosine");
    const queries = [...randomVectors(20, 33, "queries"), vectors[0] as Float32Array];
    const together = await scan.search(queries, Array(21).fill(30));
    for (const [index, query] of queries.entries()) expect(await scan.search([query], [30])).toEqual([together[index]]);
    expect(together[20]?.map(({ row }) => row)).toEqual([0, ...Array.from({ length: 29 }, (_, place) => 300 + place)]);
    await scan.close();
  });
});

describe("openExactIndex", () => {
  it("serves concurrent searches of several callers, streamed and in memory, and stops", async () => {
    const vectors = randomVectors(9000, 12, "rows");
    const file = await fileOf(vectors);
    for (const memoryBytes of [0, 1e9]) {
      const index = await openExactIndex(file, { dimensions: 12, metric: "inner-product", rows: 9000, threads: 1, memoryBytes });
      expect(index).toMatchObject({ rows: 9000, dimensions: 12, metric: "inner-product", inMemory: memoryBytes > 0 });
      const callers = Array.from({ length: 10 }, (_, caller) => randomVectors(1 + (caller % 4), 12, `caller ${caller}`));
      await Promise.all(
        callers.map(async (queries, caller) => {
          const found = await index.search(queries, caller + 1);
          expect(found).toHaveLength(queries.length);
          queries.forEach((query, place) => {
            expectHits(found[place] as Hit[], truth(vectors, query, "inner-product", caller + 1));
          });
        }),
      );
      expect(await index.search([], 5)).toEqual([]);
      const late = index.search(callers[5] as Float32Array[], 3);
      const closing = index.close();
      await expect(late).rejects.toThrow("closed");
      await closing;
      await expect(index.search(callers[0] as Float32Array[], 3)).rejects.toMatchObject({ name: "InfrastructureError" });
      await index.close();
    }
  });

  it("refuses queries and counts that are none, and goes on", async () => {
    const index = await openExactIndex(await fileOf([[1, 2, 3]]), { dimensions: 3, metric: "l2", threads: 1 });
    await expect(index.search([new Float32Array(3), new Float32Array(2)], 1)).rejects.toThrow("query 1 has 2 dimensions, the index 3");
    await expect(index.search([Float32Array.of(1, Number.NaN, 0)], 1)).rejects.toThrow("query 0 holds NaN at dimension 1");
    await expect(index.search([Float32Array.of(1e19, 0, 0)], 1)).rejects.toThrow("query 0 is longer than 1e18");
    await expect(index.search([new Float32Array(3)], 0)).rejects.toThrow("topK: expected a positive whole number, got 0");
    expect(await index.search([Float32Array.of(1, 2, 4)], 5)).toEqual([[{ row: 0, score: -1 }]]);
    await index.close();
  });

  it("names a file that is missing, of a wrong size, or holds what is no vector", async () => {
    const options = { dimensions: 3, metric: "cosine", threads: 1 } as const;
    await expect(openExactIndex(join(folder, "absent"), options)).rejects.toThrow("absent: vectors can't be read (ENOENT)");
    const file = await fileOf([
      [1, 2, 3],
      [4, 5],
    ]);
    await expect(openExactIndex(file, options)).rejects.toThrow(`${file}: has 20 bytes, not whole rows of 3 float32 values`);
    await expect(openExactIndex(file, { ...options, rows: 2 })).rejects.toThrow("has 20 bytes, but 2 rows of 3 float32 values are 24");
    const broken = await fileOf([...Array.from({ length: 40 }, () => [1, 0, 0]), [0, Number.POSITIVE_INFINITY, 0]]);
    const message = `${broken}: the vector of row 40 (counted from 0) holds Infinity at dimension 1`;
    await expect(openExactIndex(broken, options)).rejects.toThrow(message);
    const streamed = await openExactIndex(broken, { ...options, memoryBytes: 0 });
    await expect(streamed.search([Float32Array.of(1, 0, 0)], 1)).rejects.toMatchObject({
      name: "DataError",
      message: expect.stringContaining(message),
    });
    await streamed.close();
  });

  it("searches a file without rows, and tells when one is cut short under it", async () => {
    const empty = await openExactIndex(await fileOf([]), { dimensions: 3, metric: "l2", threads: 1 });
    expect(await empty.search([new Float32Array(3)], 5)).toEqual([[]]);
    await empty.close();
    const file = await fileOf(randomVectors(9000, 3, "rows"));
    const index = await openExactIndex(file, { dimensions: 3, metric: "l2", threads: 1, memoryBytes: 0 });
    await truncate(file, 99_000);
    await expect(index.search([new Float32Array(3)], 5)).rejects.toMatchObject({
      name: "InfrastructureError",
      message: expect.stringContaining("has become shorter"),
    });
    await index.close();
  });
});

describe("openExactWriter", () => {
  it("goes on where a kill left it, without the row that was torn", async () => {
    const file = join(folder, "resumed.f32");
    const first = await openExactWriter(file, 3);
    expect(first.rows).toBe(0);
    // Both calls at once: still one after the other.
    await Promise.all([first.append(Float32Array.of(1, 2, 3)), first.append(Float32Array.of(4, 5, 6, 7, 8, 9))]);
    expect(first.rows).toBe(3);
    await first.close();
    await appendFile(file, new Uint8Array(7));
    const second = await openExactWriter(file, 3);
    expect(second.rows).toBe(3);
    expect((await stat(file)).size).toBe(36);
    await second.append(Float32Array.of(0, 10, 11, 12).subarray(1));
    await second.finish();
    await second.close();
    const values = new Float32Array(12);
    const handle = await open(file);
    await handle.read(new Uint8Array(values.buffer), 0, 48, 0);
    await handle.close();
    expect(Array.from(values)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  });

  it("refuses half rows and names a file that can't be made", async () => {
    const writer = await openExactWriter(join(folder, "half.f32"), 3);
    await expect(writer.append(new Float32Array(4))).rejects.toThrow("4 values are not whole rows of 3");
    expect(writer.rows).toBe(0);
    await writer.close();
    const nowhere = join(folder, "nowhere", "x.f32");
    await expect(openExactWriter(nowhere, 3)).rejects.toThrow(`${nowhere}: vectors can't be written`);
  });
});
