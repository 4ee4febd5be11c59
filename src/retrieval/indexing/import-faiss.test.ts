import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { retrievalConfig, smallCorpus, writeCorpus } from "../../../test/fixtures/retrieval/small-corpus.ts";
import type { Document } from "../../types.ts";
import { documentText } from "../corpus/corpus.ts";
import { HashedEmbedder } from "../embedding/hashed-embedder.ts";
import type { BuildEvent } from "./build-progress.ts";
import { importFaiss } from "./import-faiss.ts";
import { openIndex } from "./open-index.ts";

const documents = smallCorpus(3000);
const dimensions = 24;
const model = HashedEmbedder.fit(documents.map(documentText), { dimensions });

let folder: string;
let index: string;
let server: Server;
/** Texts that the endpoint was asked to embed. */
let embedded: number;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "cosearch-faiss-"));
  index = join(folder, "index");
  embedded = 0;
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { input } = JSON.parse(Buffer.concat(chunks).toString()) as { input: string[] };
    embedded += input.length;
    const vectors = await model.embedDocuments(input);
    const data = vectors.map((vector, position) => ({ object: "embedding", index: position, embedding: [...vector] }));
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ object: "list", model: "m", data, usage: { prompt_tokens: 1, total_tokens: 1 } }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterEach(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

/** An IndexFlatIP (or, with metric 1, IndexFlatL2) file as faiss writes it. */
function flatFile(vectors: readonly Float32Array[], metric: 0 | 1 = 0): Buffer {
  const header = Buffer.alloc(45);
  header.write(metric === 0 ? "IxFI" : "IxF2", "latin1");
  header.writeInt32LE(dimensions, 4);
  header.writeBigInt64LE(BigInt(vectors.length), 8);
  header.writeBigInt64LE(1n << 20n, 16);
  header.writeBigInt64LE(1n << 20n, 24);
  header.writeUInt8(1, 32);
  header.writeInt32LE(metric, 33);
  header.writeBigUInt64LE(BigInt(vectors.length * dimensions), 37);
  return Buffer.concat([header, ...vectors.map((vector) => Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength))]);
}

async function vectorsOf(list: readonly Document[]): Promise<Float32Array[]> {
  return model.embedDocuments(list.map(documentText));
}

function config(settings: object = {}, corpus: readonly Document[] = documents) {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return retrievalConfig({ corpus: writeCorpus(folder, corpus), embedder: { kind: "endpoint", model: "m", url }, ...settings });
}

function faissFile(bytes: Buffer, name = "e5_Flat.index"): string {
  writeFileSync(join(folder, name), bytes);
  return join(folder, name);
}

describe("importFaiss", () => {
  it("copies the vectors as they are, from pieces too, with the file's metric, and embeds only the spot checks", async () => {
    const bytes = flatFile(await vectorsOf(documents), 1);
    const pieces = join(folder, "pieces");
    mkdirSync(pieces);
    writeFileSync(join(pieces, "part_aa"), bytes.subarray(0, 100_001));
    writeFileSync(join(pieces, "part_ab"), bytes.subarray(100_001));
    const manifest = await importFaiss({ config: config({ kind: "hybrid" }), folder: index, faiss: [pieces] });
    expect(manifest).toMatchObject({
      kind: "hybrid",
      vectors: { kind: "exact", metric: "l2", dimensions },
      documents: { count: 3000 },
      sources: [{ name: "corpus.jsonl" }, { name: "part_aa", bytes: 100_001 }, { name: "part_ab" }],
    });
    expect(readFileSync(join(index, "vectors.f32")).equals(bytes.subarray(45))).toBe(true);
    expect(embedded).toBeLessThanOrEqual(20);
    const opened = await openIndex(index, config({ kind: "dense" }));
    const [found] = await opened.search([documentText(documents[1234] as Document)], 3);
    await opened.close();
    expect(found?.[0]).toMatchObject({ document: { id: "p1234" } });
    expect(found?.[0]?.score).toBeCloseTo(0, 5);
  });

  it("goes on where it was stopped, to the same files", async () => {
    const settings = config();
    const faiss = [faissFile(flatFile(await vectorsOf(documents)))];
    const controller = new AbortController();
    const stop = (event: BuildEvent) => event.kind === "documents" && controller.abort();
    await expect(importFaiss({ config: settings, folder: index, faiss, signal: controller.signal, onEvent: stop })).rejects.toThrow(
      /abort/i,
    );
    const events: BuildEvent[] = [];
    await importFaiss({ config: settings, folder: index, faiss, onEvent: (event) => events.push(event) });
    expect(events).toContainEqual({ kind: "resumed", done: ["documents"] });
    const whole = join(folder, "whole");
    await importFaiss({ config: settings, folder: whole, faiss });
    expect(readFileSync(join(index, "manifest.json"), "utf8")).toBe(readFileSync(join(whole, "manifest.json"), "utf8"));
    expect(readFileSync(join(index, "vectors.f32")).equals(readFileSync(join(whole, "vectors.f32")))).toBe(true);
  });

  it("refuses a corpus of another length, naming both counts", async () => {
    const faiss = [faissFile(flatFile(await vectorsOf(documents.slice(0, 40))))];
    await expect(importFaiss({ config: config({}, documents.slice(0, 41)), folder: index, faiss })).rejects.toThrow(
      "e5_Flat.index: holds 40 vectors, the corpus 41 passages",
    );
  });

  it("refuses vectors of other passages or another model by their cosines, unless told not to look", async () => {
    const some = documents.slice(0, 40);
    const shuffled = await vectorsOf([...some.slice(1), ...some.slice(0, 1)]);
    const faiss = [faissFile(flatFile(shuffled))];
    const settings = config({}, some);
    await expect(importFaiss({ config: settings, folder: index, faiss })).rejects.toThrow(
      /not those that m makes of these passages \(8 of 8 have a cosine below 0\.99\):\n {2}passage 1 \(id p0\): cosine -?0\.\d{4}[\s\S]*--no-check/,
    );
    expect(await importFaiss({ config: settings, folder: index, faiss, check: false })).toMatchObject({ documents: { count: 40 } });
  });

  it("refuses settings that can't be: no model named, another metric, other dimensions, BM25", async () => {
    const some = documents.slice(0, 40);
    const faiss = [faissFile(flatFile(await vectorsOf(some)))];
    const refused = (settings: object, message: string) =>
      expect(importFaiss({ config: config(settings, some), folder: index, faiss })).rejects.toThrow(message);
    await refused({ embedder: { kind: "hashed" } }, "say which model the vectors were made with, e.g. --embedder onnx --model");
    await refused({ index: { metric: "l2" } }, "retrieval.index.metric: l2 is asked for,");
    await refused({ kind: "bm25" }, "bm25 has no vectors to import");
    const longer = flatFile([new Float32Array(dimensions)]);
    longer.writeInt32LE(dimensions + 1, 4);
    longer.writeBigUInt64LE(BigInt(dimensions + 1), 37);
    const other = faissFile(Buffer.concat([longer, Buffer.alloc(4)]), "other.index");
    await expect(importFaiss({ config: config({}, some.slice(0, 1)), folder: index, faiss: [other] })).rejects.toThrow(
      "other.index has 25 dimensions, the embedder m has 24",
    );
    await expect(importFaiss({ config: config(), folder: index, faiss: [join(folder, "none.index")] })).rejects.toThrow("none.index");
  });
});
