import { readFileSync } from "node:fs";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type EmbedderConfig, retrievalConfigSchema } from "../../config.ts";
import type { Embedder } from "./embedder.ts";
import { encoderFingerprint } from "./encoder-fingerprint.ts";
import { HashedEmbedder } from "./hashed-embedder.ts";
import { openEmbedder } from "./open-embedder.ts";

const folder = fileURLToPath(new URL("../../../test/fixtures/retrieval/encoder/", import.meta.url));
const goldens = JSON.parse(readFileSync(join(folder, "goldens.json"), "utf8")) as {
  readonly texts: string[];
  readonly queries: number[][];
  readonly documents: number[][];
  /** Of queries and of documents. */
  readonly truncated: number[];
};
const config = (changes: Partial<EmbedderConfig>): EmbedderConfig => ({
  ...retrievalConfigSchema.parse({}).retrieval.embedder,
  ...changes,
});
const tiny = config({ kind: "onnx", model: "someone/tiny", batchTokens: 64 });

describe("an ONNX encoder in its thread", () => {
  let embedder: Embedder;
  beforeAll(async () => {
    embedder = await openEmbedder(tiny, { resolveModel: async () => folder });
  });
  afterAll(() => embedder.close?.());

  it("has sentence-transformers' vectors, in the order of the texts", async () => {
    const close = (vectors: readonly Float32Array[], expected: readonly number[][]) =>
      expect(
        Math.max(...vectors.flatMap((vector, row) => [...vector].map((value, index) => Math.abs(value - Number(expected[row]?.[index]))))),
      ).toBeLessThan(2e-6);
    const { texts, queries, documents, truncated } = goldens;
    const before = embedder.truncated?.() ?? 0;
    close(await embedder.embedQueries(texts), queries);
    close(await embedder.embedDocuments(texts), documents);
    expect(embedder.truncated?.()).toBe(before + (truncated[0] as number) + (truncated[1] as number));
    const reversed = await embedder.embedDocuments(texts.slice().reverse());
    close(reversed.reverse(), documents);
    expect(await embedder.embedQueries([])).toEqual([]);
  });

  it("says what it is, without a path", () => {
    expect(embedder.name).toBe("someone/tiny");
    expect(embedder.identity).toEqual({
      kind: "onnx",
      model: "someone/tiny",
      dimensions: 16,
      queryPrefix: "query: ",
      documentPrefix: "passage: ",
      pooling: "mean",
      normalize: true,
      maxTokens: 24,
      fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it("leaves this thread free while it works", async () => {
    const before = performance.eventLoopUtilization();
    await embedder.embedDocuments(Array.from({ length: 3000 }, (_, index) => `document number ${index}`));
    expect(performance.eventLoopUtilization(before).utilization).toBeLessThan(0.5);
  });

  it("may be aborted before and within a call; later calls work", async () => {
    const many = Array.from({ length: 3000 }, (_, index) => `document number ${index}`);
    await expect(embedder.embedQueries(["x"], AbortSignal.abort(new Error("enough")))).rejects.toThrow("enough");
    const controller = new AbortController();
    const call = embedder.embedDocuments(many, controller.signal);
    controller.abort(new Error("too slow"));
    await expect(call).rejects.toThrow("too slow");
    expect(await embedder.embedQueries(["x"])).toHaveLength(1);
  });

  it("refuses calls under way and later ones when closed, and may be closed twice", async () => {
    const other = await openEmbedder(tiny, { resolveModel: async () => folder });
    const call = other.embedDocuments(Array.from({ length: 500 }, (_, index) => `document ${index}`));
    const [, outcome] = await Promise.allSettled([other.close?.(), call]);
    expect(outcome).toMatchObject({ status: "rejected", reason: { name: "InfrastructureError", message: "the embedder was closed" } });
    await expect(other.embedQueries(["x"])).rejects.toThrow("the embedder was closed");
    await other.close?.();
  });
});

describe("openEmbedder", () => {
  let scratch: string;
  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), "cosearch-onnx-"));
  });
  afterAll(() => rm(scratch, { recursive: true }));

  it("tells this thread what the worker found wrong", async () => {
    const broken = join(scratch, "broken");
    await cp(folder, broken, { recursive: true });
    await writeFile(join(broken, "onnx", "model.onnx"), "not a graph");
    await expect(openEmbedder({ ...tiny, model: broken })).rejects.toThrow(
      expect.objectContaining({ name: "ModelError", message: expect.stringContaining("can't be loaded") }),
    );
  });

  it("opens a hashed embedder from its state", async () => {
    const { state, identity } = HashedEmbedder.fit(["one two"], { dimensions: 8 });
    expect((await openEmbedder(config({}), { hashedState: state })).identity).toEqual(identity);
    await expect(openEmbedder(config({}))).rejects.toThrow(/must first be fitted/);
  });

  it("needs a model for an encoder", async () => {
    await expect(openEmbedder(config({ kind: "onnx" }))).rejects.toThrow(/retrieval\.embedder\.model is needed/);
  });
});

describe("encoderFingerprint", () => {
  it("changes with graph, outside weights and tokenizer, not with the place or other files", async () => {
    const scratch = await mkdtemp(join(tmpdir(), "cosearch-fingerprint-"));
    try {
      const files = async (name: string, graph: string, weights: string | undefined, tokenizer: string) => {
        const place = await mkdtemp(join(scratch, name));
        await writeFile(join(place, "model.onnx"), graph);
        if (weights !== undefined) await writeFile(join(place, "model.onnx_data"), weights);
        await writeFile(join(place, "tokenizer.json"), tokenizer);
        await writeFile(join(place, "model.onnx.sha256"), name);
        return encoderFingerprint({ graph: join(place, "model.onnx"), tokenizer: join(place, "tokenizer.json") });
      };
      expect(await files("a", "g", "w", "t")).toBe(await files("b", "g", "w", "t"));
      const all = [
        await files("c", "g", "w", "t"),
        await files("d", "G", "w", "t"),
        await files("e", "g", "W", "t"),
        await files("f", "g", undefined, "t"),
        await files("g", "g", "w", "T"),
      ];
      expect(new Set(all).size).toBe(5);
    } finally {
      await rm(scratch, { recursive: true });
    }
  });
});
