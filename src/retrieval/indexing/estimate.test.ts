import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { retrievalConfig, smallCorpus } from "../../../test/fixtures/retrieval/small-corpus.ts";
import { documentText } from "../corpus/corpus.ts";
import type { CorpusStream } from "../corpus/corpus-stream.ts";
import { bytesText, type CorpusSample, checkFits, estimateDisk, estimateIndex, type Machine, sampleCorpus } from "./estimate.ts";
import { folderBytes } from "./index-folder.ts";
import { newIndexSettings } from "./index-settings.ts";
import { buildStoredBm25 } from "./stored-bm25.ts";

const wikipedia: CorpusSample = { documents: 21_015_324, exact: false, storedBytes: 660, distinctWords: 70, vocabulary: 4_000_000 };
const machine = (freeDisk: number, freeMemory: number): Machine => ({
  freeDisk: async () => freeDisk,
  freeMemory: () => freeMemory,
  usedMemory: () => 0,
});
const gibibyte = 2 ** 30;

function streamOf(passages: ReturnType<typeof smallCorpus>): CorpusStream {
  let read = 0;
  return {
    totalBytes: passages.length * 100,
    others: [],
    bytesRead: () => read,
    async *[Symbol.asyncIterator]() {
      for (const [index, document] of passages.entries()) {
        read += 100;
        yield { document, place: { file: "f", line: index + 1 } };
      }
    },
  };
}

describe("sampleCorpus", () => {
  it("counts a small corpus and judges a large one by its head", async () => {
    const small = await sampleCorpus(streamOf(smallCorpus(500)));
    expect(small).toMatchObject({ documents: 500, exact: true });
    expect(await sampleCorpus(streamOf(smallCorpus(25_000)), undefined, 24_990)).toMatchObject({ documents: 24_990, exact: true });
    const large = await sampleCorpus(streamOf(smallCorpus(25_000)));
    expect(large).toMatchObject({ documents: 25_000, exact: false });
    expect(large.storedBytes).toBeGreaterThan(100);
    expect(large.distinctWords).toBeGreaterThan(10);
  });
});

describe("the estimate", () => {
  it("counts vectors at four bytes a value, and nothing that the kind does without", () => {
    const dense = newIndexSettings(retrievalConfig({ embedder: { kind: "onnx", model: "a/b" } }));
    expect(estimateDisk(wikipedia, dense, 768)).toMatchObject({ vectors: 21_015_324 * 768 * 4, vectorIndex: 0, bm25: 0 });
    const bm25 = estimateDisk(wikipedia, newIndexSettings(retrievalConfig({ kind: "bm25" })), 0);
    expect(bm25.vectors).toBe(0);
    expect(bm25.bm25).toBeGreaterThan(2.5 * gibibyte);
    expect(bm25.bm25).toBeLessThan(4 * gibibyte);
    expect(bm25.texts).toBeGreaterThan(13 * gibibyte);
  });

  it("refuses what won't fit with sizes and advice, and takes what does", async () => {
    const settings = newIndexSettings(retrievalConfig({ embedder: { kind: "onnx", model: "a/b" } }));
    const on = (disk: number, memory: number) => estimateIndex(wikipedia, settings, 768, "/i", machine(disk * gibibyte, memory * gibibyte));
    const short = await on(20, 64);
    expect(() => checkFits(short, "/i", 0)).toThrow(
      /needs about 7\d GiB \(texts 1\d GiB, vectors of 21,015,324 passages 60 GiB\), but the disk of \/i has 20 GiB free: name a folder on another disk, choose an embedder with fewer dimensions.*--force/,
    );
    expect(() => checkFits(short, "/i", 60 * gibibyte)).not.toThrow();
    expect(async () => checkFits(await on(100, 64), "/i", 0)).not.toThrow();
    const cramped = await on(100, 0.1);
    expect(() => checkFits(cramped, "/i", 0)).toThrow(/takes about [\d.]+ GiB of memory, 102 MiB are free: .*--force/);
  });

  it("judges BM25 as it turns out to be, and counts what only its building takes", async () => {
    const folder = await mkdtemp(join(tmpdir(), "estimate-"));
    try {
      const passages = smallCorpus(2000);
      await buildStoredBm25(
        join(folder, "bm25"),
        (async function* () {
          for (const passage of passages) yield documentText(passage);
        })(),
      );
      const settings = newIndexSettings(retrievalConfig({ kind: "bm25" }));
      const judged = await estimateIndex(await sampleCorpus(streamOf(passages)), settings, 0, "/i", machine(0, 2 ** 40));
      const found = await folderBytes(join(folder, "bm25"));
      expect(judged.disk.bm25 / found).toBeGreaterThan(0.7);
      expect(judged.disk.bm25 / found).toBeLessThan(1.5);
      expect(() => checkFits(judged, "/i", judged.diskTotal)).toThrow("BM25's parts until they are merged");
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("leaves vectors out that LanceDB keeps elsewhere", () => {
    const index = { kind: "ivf-pq", folder: "/i", location: "s3://bucket/wiki" };
    const away = newIndexSettings(retrievalConfig({ embedder: { kind: "onnx", model: "a/b" }, index }));
    expect(estimateDisk(wikipedia, away, 768)).toMatchObject({ vectors: 0, vectorIndex: 0 });
  });

  it("needs no memory that grows with the vectors of an exact index", async () => {
    const settings = newIndexSettings(retrievalConfig({ embedder: { kind: "onnx", model: "a/b" } }));
    const { memory } = await estimateIndex(wikipedia, settings, 768, "/i", machine(0, 0));
    expect(memory).toBeLessThan(2 * gibibyte);
  });
});

it.each([
  [0, "0 bytes"],
  [1023, "1023 bytes"],
  [1536, "1.5 KiB"],
  [64_559_075_328, "60 GiB"],
])("bytesText(%d) = %s", (bytes, text) => expect(bytesText(bytes)).toBe(text));
