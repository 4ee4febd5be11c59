import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { retrievalConfig, smallCorpus, writeCorpus } from "../../../test/fixtures/retrieval/small-corpus.ts";
import type { Document } from "../../types.ts";
import { buildIndex } from "./build-index.ts";
import { openIndex } from "./open-index.ts";
import { verifyIndex } from "./verify-index.ts";

const documents = smallCorpus(300);
const settings = { kind: "hybrid", embedder: { kind: "hashed", dimensions: 32 } };
let folder: string;
let built: string;
let index: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "cosearch-open-"));
  built = join(folder, "built");
  await buildIndex({ config: retrievalConfig({ ...settings, corpus: writeCorpus(folder, documents) }), folder: built });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeEach(() => {
  index = join(folder, "index");
  rmSync(index, { recursive: true, force: true });
  cpSync(built, index, { recursive: true });
});

const open = (config: object = {}) => openIndex(index, retrievalConfig(config));
const text = (row: number) => (documents[row] as Document).text;

/** Sets a dotted key of manifest.json. */
function changeManifest(key: string, value: unknown): void {
  const file = join(index, "manifest.json");
  const manifest = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
  const parts = key.split(".");
  const last = parts.pop() as string;
  const section = parts.reduce((inner, part) => inner[part] as Record<string, unknown>, manifest);
  section[last] = value;
  writeFileSync(file, JSON.stringify(manifest));
}

/** Puts bytes into a file at a place, its size unchanged. */
function overwrite(name: string, position: number, bytes: Uint8Array): void {
  const file = join(index, name);
  const content = readFileSync(file);
  content.set(bytes, position);
  writeFileSync(file, content);
}

describe("openIndex", () => {
  it("searches by vectors, by words, and by both fused, as the configuration asks", async () => {
    const query = text(42).split(" ").slice(0, 12).join(" ");
    const scores: Record<string, number[]> = {};
    for (const kind of ["dense", "bm25", "hybrid"]) {
      const opened = await open({ kind });
      const [found = [], again] = await opened.search([query, query], 5);
      expect(found[0]?.document).toEqual(documents[42]);
      expect(found.map(({ rank }) => rank)).toEqual([1, 2, 3, 4, 5]);
      expect(again).toEqual(found);
      scores[kind] = found.map(({ score }) => score);
      await opened.close();
    }
    expect(scores.hybrid?.[0]).toBeCloseTo(2 / 61, 6);
    const silent = await open();
    await silent.close();
    expect(silent.name).toBe("hybrid-hashed");
  });

  it("looks for BM25's constants and the fusion's at search time", async () => {
    const query = [text(7)];
    const [plain, sharp] = [await open({ kind: "bm25" }), await open({ kind: "bm25", k1: 2, b: 0.9 })];
    expect((await plain.search(query, 1))[0]?.[0]?.score).not.toBeCloseTo((await sharp.search(query, 1))[0]?.[0]?.score as number, 3);
    const fused = await open({ fusionConstant: 1 });
    expect((await fused.search(query, 1))[0]?.[0]?.score).toBeCloseTo(1, 6);
    await Promise.all([plain, sharp, fused].map((opened) => opened.close()));
  });

  it("refuses a folder without a finished index, telling what to do", async () => {
    rmSync(join(index, "manifest.json"));
    await expect(open()).rejects.toThrow("holds no index: build one with  cosearch index build --corpus FILE");
    writeFileSync(join(index, "build.json"), '{"formatVersion":1,"done":[]}');
    await expect(open()).rejects.toThrow("is not finished");
  });

  it.each([
    ["formatVersion", 9, /has index format 9, this CoSearch reads format 1/],
    ["extra", 1, /manifest\.json: is no manifest of an index/],
    ["documents.count", 299, /\(count: the manifest has 299, found is 300\)/],
    ["documents.idsSha256", "0".repeat(64), /\(idsSha256: the manifest has 0000/],
    ["embedder.identity.fingerprint", "0".repeat(64), /embedder fingerprint: the index has 0000/],
    ["bm25.analyserVersion", 99, /text analysis: the manifest has 99, found is \d/],
    ["vectors.dimensions", 16, /\(dimensions: the manifest has 16, found is 32\)/],
  ])("refuses a manifest whose %s is %s, naming both sides", async (key, value, message) => {
    changeManifest(key, value);
    await expect(open()).rejects.toThrow(message);
  });

  it("refuses other dimensions and missing or shortened files", async () => {
    await expect(open({ embedder: { kind: "hashed", dimensions: 64 } })).rejects.toThrow("dimensions: 64 is asked for, the index has 32");
    appendFileSync(join(index, "vectors.f32"), "more");
    await expect(open()).rejects.toThrow(/vectors\.f32: has 38404 bytes, the manifest says 38400/);
    rmSync(join(index, "embedder.json"));
    await expect(open()).rejects.toThrow(/embedder\.json: is missing/);
  });
});

describe("verifyIndex", () => {
  const verify = () => verifyIndex(index, retrievalConfig({}), { sample: 16 });

  it("tells what was looked at in a whole index", async () => {
    const parts = await verify();
    expect(parts.map(({ name }) => name)).toEqual(["files", "documents", "vectors", "BM25", "sample"]);
    expect(parts.at(-1)?.found).toBe("16 passages, by vectors and words");
  });

  it("names a changed text", async () => {
    const file = readFileSync(join(index, "documents/documents.jsonl"), "utf8");
    overwrite("documents/documents.jsonl", file.indexOf(text(200).slice(0, 10)), Buffer.from("X"));
    await expect(verify()).rejects.toThrow(/documents: the documents have been changed \(SHA-256 .*, the manifest has .*\)/);
  });

  it("names a vector that is none, and vectors of other passages", async () => {
    overwrite("vectors.f32", 57 * 32 * 4, new Uint8Array(Float32Array.of(Number.NaN).buffer));
    await expect(verify()).rejects.toThrow(/vectors\.f32: the vector of row 57 \(counted from 0\) holds NaN/);
    cpSync(join(built, "vectors.f32"), join(index, "vectors.f32"));
    overwrite("vectors.f32", 0, readFileSync(join(built, "vectors.f32")).subarray(32 * 4, 64 * 4));
    await expect(verify()).rejects.toThrow(/vectors are not those that hashed makes[\s\S]*passage 1 \(id p0\): cosine/);
  });
});
