import { describe, expect, it } from "vitest";
import type { Embedder } from "../embedding/embedder.ts";
import { copyRows } from "./copy-rows.ts";
import { cosine } from "./cosine.ts";
import { blockRows, embedRows } from "./embed-rows.ts";
import type { VectorWriter } from "./vector-index.ts";

/** Keeps rows in memory; `rows` may start in the middle of a block, as after a kill. */
class MemoryWriter implements VectorWriter {
  constructor(
    readonly values: number[],
    private readonly dimensions: number,
  ) {}
  get rows() {
    return this.values.length / this.dimensions;
  }
  async append(vectors: Float32Array) {
    this.values.push(...vectors);
  }
  async finish() {}
  async close() {}
}

const identity = { kind: "unknown", model: "counting", dimensions: 2, queryPrefix: "", documentPrefix: "", normalize: false } as const;

/** The vector of text "7" is [7, 1]; remembers how many texts each call had. */
function countingEmbedder(calls: number[], vector = (text: string) => [Number(text), 1]): Embedder {
  const embed = async (texts: readonly string[]) => {
    calls.push(texts.length);
    return texts.map((text) => Float32Array.from(vector(text)));
  };
  return { name: "counting", dimensions: 2, identity, embedQueries: embed, embedDocuments: embed };
}

const texts = async (from: number, to: number) => Array.from({ length: to - from }, (_, index) => String(from + index));
const expected = (rows: number) => Array.from({ length: rows }, (_, row) => [row, 1]).flat();

describe("embedRows", () => {
  it("embeds whole blocks in order and goes on where a writer stands, with the calls of an unbroken build", async () => {
    const rows = 2 * blockRows + 10;
    const calls: number[] = [];
    const whole = new MemoryWriter([], 2);
    await embedRows({ writer: whole, embedder: countingEmbedder(calls), rows, texts });
    expect(whole.values).toEqual(expected(rows));
    expect(calls).toEqual([blockRows, blockRows, 10]);

    const resumedCalls: number[] = [];
    const resumed = new MemoryWriter(expected(blockRows + 3), 2);
    await embedRows({ writer: resumed, embedder: countingEmbedder(resumedCalls), rows, texts });
    expect(resumed.values).toEqual(whole.values);
    expect(resumedCalls).toEqual([blockRows, 10]);
  });

  it("names the document whose vector is none, and writes nothing of its block", async () => {
    const writer = new MemoryWriter([], 2);
    const nothing = countingEmbedder([], (text) => [text === "5" ? Number.NaN : 1, 1]);
    await expect(embedRows({ writer, embedder: nothing, rows: 10, texts })).rejects.toThrow(
      "the vector that counting made of document 6 holds values that are no numbers",
    );
    const short = countingEmbedder([], (text) => (text === "2" ? [1] : [1, 1]));
    await expect(embedRows({ writer, embedder: short, rows: 10, texts })).rejects.toThrow("document 3 has 1 dimensions, not 2");
    const lazy = { ...countingEmbedder([]), embedDocuments: async () => [Float32Array.of(1, 1)] };
    await expect(embedRows({ writer, embedder: lazy, rows: 10, texts })).rejects.toThrow("counting made 1 vectors of documents 1 to 10");
    expect(writer.rows).toBe(0);
  });

  it("stops between blocks when asked to", async () => {
    const controller = new AbortController();
    const writer = new MemoryWriter([], 2);
    const stopped = embedRows({
      writer,
      embedder: countingEmbedder([]),
      rows: 3 * blockRows,
      texts,
      onBlock: () => controller.abort(),
      signal: controller.signal,
    });
    await expect(stopped).rejects.toThrow(/abort/i);
    expect(writer.rows).toBe(blockRows);
  });
});

describe("copyRows", () => {
  const given = (values: number[]) => ({
    rows: values.length / 2,
    dimensions: 2,
    metric: "inner-product" as const,
    async *read(from: number, to: number) {
      for (let row = from; row < to; row += 3) yield Float32Array.from(values.slice(row * 2, Math.min(to, row + 3) * 2));
    },
  });

  it("copies what is missing", async () => {
    const writer = new MemoryWriter(expected(4), 2);
    await copyRows({ writer, given: given(expected(11)) });
    expect(writer.values).toEqual(expected(11));
  });
});

it("cosine", () => {
  expect(cosine(Float32Array.of(1, 0), Float32Array.of(3, 4))).toBeCloseTo(0.6, 7);
  expect(cosine(Float32Array.of(0, 0), Float32Array.of(0, 0))).toBe(1);
  expect(cosine(Float32Array.of(0, 0), Float32Array.of(1, 0))).toBe(0);
});
