import { describe, expect, it } from "vitest";
import { retrievalConfig } from "../../../test/fixtures/retrieval/small-corpus.ts";
import type { EmbedderIdentity } from "../embedding/embedder.ts";
import { checkIdentity, contentSettings, newIndexSettings, openingSettings, settingDifferences } from "./index-settings.ts";
import type { IndexManifest } from "./manifest.ts";

const identity: EmbedderIdentity = {
  kind: "onnx",
  model: "intfloat/e5-base-v2",
  dimensions: 768,
  queryPrefix: "query: ",
  documentPrefix: "passage: ",
  pooling: "mean",
  normalize: true,
  maxTokens: 512,
  fingerprint: "ab".repeat(32),
};

const manifest: IndexManifest = {
  formatVersion: 1,
  cosearch: "0.1.0",
  kind: "hybrid",
  embedder: { identity, settings: { kind: "onnx", model: "intfloat/e5-base-v2" } },
  vectors: { kind: "ivf-pq", metric: "inner-product", dimensions: 768, partitions: 64 },
  bm25: { analyserVersion: 1 },
  documents: { count: 10, idsSha256: "0".repeat(64), documentsSha256: "1".repeat(64), skipped: 0 },
  files: {},
  sources: [{ name: "corpus.jsonl", bytes: 10 }],
};

describe("openingSettings", () => {
  it("takes everything from the index where the configuration is silent", () => {
    expect(openingSettings(retrievalConfig({}), manifest, "/i")).toEqual({
      kind: "hybrid",
      embedder: { kind: "onnx", model: "intfloat/e5-base-v2" },
      vectors: { kind: "ivf-pq", metric: "inner-product", partitions: 64 },
    });
  });

  it("uses one side of a hybrid index, where models are now, and how hard a search looks", () => {
    const asked = { kind: "dense", embedder: { kind: "onnx", model: "/models/e5" }, index: { folder: "/i", probes: 9 } };
    expect(openingSettings(retrievalConfig(asked), manifest, "/i")).toMatchObject({
      kind: "dense",
      embedder: { model: "/models/e5" },
      vectors: { probes: 9 },
    });
    expect(openingSettings(retrievalConfig({ kind: "bm25" }), manifest, "/i")).toEqual({ kind: "bm25" });
  });

  it("names both sides of every contradiction", () => {
    const asked = retrievalConfig({ embedder: { kind: "hashed" }, index: { kind: "hnsw", metric: "cosine", folder: "/i", partitions: 8 } });
    expect(() => openingSettings(asked, manifest, "/i")).toThrow(
      /index in \/i is not the one[\s\S]*embedder\.kind: hashed is asked for, the index has onnx[\s\S]*index\.kind: hnsw is asked for, the index has ivf-pq[\s\S]*metric: cosine is asked for, the index has inner-product[\s\S]*partitions: 8 is asked for, the index has 64/,
    );
    const words: IndexManifest = { ...manifest, kind: "bm25", embedder: undefined, vectors: undefined };
    expect(() => openingSettings(retrievalConfig({ kind: "dense" }), words, "/i")).toThrow("kind: dense is asked for, the index has bm25");
  });
});

describe("checkIdentity", () => {
  it("takes the same model, under another name too when the weights are the same", () => {
    expect(() => checkIdentity("/i", identity, { ...identity, model: "e5" })).not.toThrow();
    expect(() => checkIdentity("/i", identity, { ...identity, fingerprint: undefined })).not.toThrow();
  });

  it.each([
    [
      { model: "intfloat/e5-large-v2", fingerprint: undefined },
      "embedder model: the index has intfloat/e5-base-v2, the embedder intfloat/e5-large-v2",
    ],
    [{ fingerprint: "cd".repeat(32) }, "embedder fingerprint: the index has abab"],
    [{ dimensions: 1024 }, "embedder dimensions: the index has 768, the embedder 1024"],
    [{ queryPrefix: "" }, 'embedder queryPrefix: the index has "query: ", the embedder ""'],
    [{ maxTokens: 256 }, "embedder maxTokens: the index has 512, the embedder 256"],
  ])("refuses another one, naming both sides (%o)", (change, message) => {
    expect(() => checkIdentity("/i", identity, { ...identity, ...change })).toThrow(message);
  });
});

describe("newIndexSettings", () => {
  it("leaves no default open and tells only what the kind has", () => {
    expect(newIndexSettings(retrievalConfig({}))).toEqual({
      kind: "dense",
      embedder: { kind: "hashed", dimensions: 384, idfPower: 1 },
      vectors: { kind: "exact", metric: "inner-product" },
    });
    expect(newIndexSettings(retrievalConfig({ kind: "bm25" }))).toEqual({ kind: "bm25" });
    const remote = { kind: "hnsw", folder: "/i", location: "s3://bucket/wiki", ef: 200 };
    expect(newIndexSettings(retrievalConfig({ index: remote })).vectors).toEqual({
      kind: "hnsw",
      metric: "inner-product",
      location: "s3://bucket/wiki",
      apiKeyVariable: "LANCEDB_API_KEY",
      ef: 200,
    });
  });

  it("tells what decides the content apart from where services are", () => {
    const endpoint = (url: string, ef: number) =>
      contentSettings(
        newIndexSettings(retrievalConfig({ embedder: { kind: "endpoint", model: "m", url }, index: { kind: "hnsw", folder: "/i", ef } })),
      );
    expect(settingDifferences(endpoint("http://a/v1", 10), endpoint("http://b/v1", 20))).toEqual([]);
  });
});

it("lists every leaf in which settings differ", () => {
  expect(settingDifferences({ a: { b: 1, c: "x" }, d: 2 }, { a: { b: 1, c: "y" } })).toEqual([
    "a.c: x before, y now",
    "d: 2 before, none now",
  ]);
});
