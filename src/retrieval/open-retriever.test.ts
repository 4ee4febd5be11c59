import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { retrievalConfig, smallCorpus, writeCorpus } from "../../test/fixtures/retrieval/small-corpus.ts";
import type { Document } from "../types.ts";
import type { BuildEvent } from "./indexing/build-progress.ts";
import { openRetriever } from "./open-retriever.ts";

const documents = smallCorpus(60);
const embedder = { kind: "hashed", dimensions: 64 };
let folder: string;
let corpus: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cosearch-open-"));
  corpus = writeCorpus(folder, documents);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function firstIds(settings: object, queries: readonly string[]): Promise<(string | undefined)[]> {
  const opened = await openRetriever(retrievalConfig(settings));
  try {
    return (await opened.retriever.search(queries, 3)).map(([first]) => first?.document.id);
  } finally {
    await opened.close();
  }
}

describe("openRetriever", () => {
  it.each(["dense", "bm25", "hybrid"])("searches a corpus in memory (%s)", async (kind) => {
    const queries = [5, 44].map((row) => (documents[row] as Document).text);
    expect(await firstIds({ corpus, kind, embedder }, queries)).toEqual(["p5", "p44"]);
  });

  it("fuses what vectors and words find, in memory as from a folder", async () => {
    const opened = await openRetriever(retrievalConfig({ corpus, kind: "hybrid", embedder, fusionConstant: 1 }));
    const [found] = await opened.retriever.search([(documents[9] as Document).text], 2);
    expect(found?.map(({ rank, document }) => [rank, document.id])[0]).toEqual([1, "p9"]);
    expect(found?.[0]?.score).toBeCloseTo(1, 6);
    expect(opened).toMatchObject({ documents: 60, description: "hybrid (hashed) over 60 passages in memory" });
    await opened.close();
  });

  it("leaves unusable passages out where it may, and tells them", async () => {
    const bad = writeCorpus(folder, [...documents, { id: "p3", title: "", text: "again" }], "bad.jsonl");
    await expect(openRetriever(retrievalConfig({ corpus: bad, embedder }))).rejects.toThrow("bad.jsonl:61: ");
    const skipped: string[] = [];
    const opened = await openRetriever(retrievalConfig({ corpus: bad, embedder, skipBad: true }), {
      onSkip: ({ reason }) => skipped.push(reason),
    });
    await opened.close();
    expect(opened.documents).toBe(60);
    expect(skipped).toEqual([expect.stringContaining("already used in line 4")]);
  });

  it("builds an index folder that is missing, and opens it without its corpus from then on", async () => {
    const index = { folder: join(folder, "index") };
    const events: BuildEvent[] = [];
    const opened = await openRetriever(retrievalConfig({ corpus, embedder, index }), { onBuild: (event) => events.push(event) });
    await opened.close();
    expect(events.map(({ kind }) => kind)).toContain("estimate");
    expect(opened).toMatchObject({ documents: 60, description: `dense (hashed, exact) over 60 passages in ${index.folder}` });
    rmSync(corpus);
    const query = [(documents[8] as Document).text];
    expect(await firstIds({ index }, query)).toEqual(["p8"]);
    expect(await firstIds({ corpus, index }, query)).toEqual(["p8"]);
  });

  it("does not make a folder for an index that can't be built", async () => {
    const index = { folder: join(folder, "none") };
    await expect(openRetriever(retrievalConfig({ index }))).rejects.toThrow("none holds no index: build one with  cosearch index build");
    expect(existsSync(index.folder)).toBe(false);
    await expect(openRetriever(retrievalConfig({}))).rejects.toThrow(
      "retrieval.corpus: is needed, unless retrieval.index.folder or retrieval.remote.url is given",
    );
  });

  it("asks a server where an address is given", async () => {
    const server = createServer((_, response) => {
      const document = { id: "7", contents: '"Peru"\nLima is its capital.' };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ result: [[{ document, score: 0.5 }]] }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const opened = await openRetriever(retrievalConfig({ remote: { url } }));
    expect(opened).toMatchObject({ description: `the server at ${url}` });
    expect(await opened.retriever.search(["capital of Peru"], 1)).toMatchObject([[{ rank: 1, score: 0.5, document: { title: "Peru" } }]]);
    await opened.close();
    server.closeAllConnections();
    server.close();
  });
});
