import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { retrievalConfig, smallCorpus, writeCorpus } from "../../../test/fixtures/retrieval/small-corpus.ts";
import { ConfigError, DataError } from "../../errors.ts";
import { lockFolder } from "../../files/folder-lock.ts";
import type { Document } from "../../types.ts";
import { createRetriever } from "../create-retriever.ts";
import { buildIndex } from "./build-index.ts";
import type { BuildEvent } from "./build-progress.ts";
import { readManifest } from "./manifest.ts";
import { openIndex } from "./open-index.ts";

let folder: string;
let index: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cosearch-index-"));
  index = join(folder, "index");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const documents = smallCorpus(2600);
const embedder = { kind: "hashed", dimensions: 32 };

/** Every file of an index folder, as one comparable value. */
function contents(path: string): Record<string, string> {
  const names = readdirSync(path, { recursive: true, encoding: "utf8" }).filter((name) => statSync(join(path, name)).isFile());
  return Object.fromEntries(names.sort().map((name) => [name, readFileSync(join(path, name)).toString("base64")]));
}

async function idsFound(config: object, queries: readonly string[]): Promise<string[][]> {
  const opened = await openIndex(index, retrievalConfig(config));
  try {
    return (await opened.search(queries, 10)).map((list) => list.map(({ document }) => document.id));
  } finally {
    await opened.close();
  }
}

describe("buildIndex", () => {
  it.each(["dense", "bm25", "hybrid"])("makes an index that finds what one in memory finds (%s)", async (kind) => {
    const config = retrievalConfig({ corpus: writeCorpus(folder, documents), kind, embedder, index: { folder: index } });
    const events: BuildEvent[] = [];
    const manifest = await buildIndex({ config, folder: index, onEvent: (event) => events.push(event) });
    expect(manifest).toMatchObject({ kind, documents: { count: 2600, skipped: 0 }, sources: [{ name: "corpus.jsonl" }] });
    expect(existsSync(join(index, "build.json"))).toBe(false);
    expect(events[0]).toMatchObject({ kind: "estimate", estimate: { documents: 2600, exact: true } });
    expect(events.some((event) => event.kind === "progress" && event.done === event.total)).toBe(true);

    const queries = [3, 1200, 2599].map((row) => (documents[row] as Document).text.split(" ").slice(2, 9).join(" "));
    const memory = await createRetriever(config, documents);
    const expected = (await memory.search(queries, 10)).map((list) => list.map(({ document, score }) => ({ id: document.id, score })));
    const opened = await openIndex(index, config);
    const found = await opened.search(queries, 10);
    await opened.close();
    for (const [position, list] of found.entries()) {
      expect(list.map(({ document }) => document)).toEqual(list.map(({ document }) => documents[Number(document.id.slice(1))]));
      // Equal scores are in another order in memory, which changes ranks and so what fusion makes of them.
      if (kind !== "hybrid") {
        for (const [rank, { score }] of list.entries()) expect(score).toBeCloseTo(expected[position]?.[rank]?.score as number, 5);
      }
      expect(list[0]?.document.id).toBe(expected[position]?.[0]?.id);
    }
  });

  it("goes on where it was stopped, at whatever stage, and ends with the same files as an unbroken build", async () => {
    const corpus = writeCorpus(folder, documents);
    const config = retrievalConfig({ corpus, kind: "hybrid", embedder, index: { folder: index } });
    const whole = join(folder, "whole");
    await buildIndex({ config, folder: whole });
    const stages = ["reading", "word statistics", "embedding", "BM25"];
    for (const stage of stages) {
      const controller = new AbortController();
      const stopped = buildIndex({
        config,
        folder: index,
        signal: controller.signal,
        onEvent: (event) => event.kind === "progress" && event.stage === stage && event.done > 0 && controller.abort(),
      });
      await expect(stopped).rejects.toThrow(/abort/i);
      await expect(openIndex(index, config)).rejects.toThrow(
        `is not finished: go on with  cosearch index build --corpus ${corpus} --kind hybrid --set retrieval.embedder.dimensions=32 --index ${index}`,
      );
    }
    const events: BuildEvent[] = [];
    await buildIndex({ config, folder: index, onEvent: (event) => events.push(event) });
    expect(events).toContainEqual({ kind: "resumed", done: ["documents", "embedder", "vectors"] });
    expect(events.find((event) => event.kind === "estimate")).toMatchObject({ estimate: { documents: 2600, exact: true } });
    expect(events.filter((event) => event.kind === "progress").map(({ stage }) => stage)).not.toContain("embedding");
    expect(contents(index)).toEqual(contents(whole));
  });

  it("embeds only what is missing", async () => {
    const config = retrievalConfig({ corpus: writeCorpus(folder, documents), embedder, index: { folder: index } });
    const controller = new AbortController();
    const stop = (event: BuildEvent) => event.kind === "progress" && event.stage === "embedding" && event.done > 0 && controller.abort();
    await expect(buildIndex({ config, folder: index, signal: controller.signal, onEvent: stop })).rejects.toThrow(/abort/i);
    const events: BuildEvent[] = [];
    await buildIndex({ config, folder: index, onEvent: (event) => events.push(event) });
    expect(events).toContainEqual({ kind: "kept", rows: 1024 });
    const blocks = events.flatMap((event) => (event.kind === "progress" && event.stage === "embedding" ? [event.done] : []));
    expect(blocks).toEqual([1024, 2048, 2600]);
  });

  it("leaves a finished index as it is, and refuses to mix it with another", async () => {
    const corpus = writeCorpus(folder, documents.slice(0, 50));
    const config = retrievalConfig({ corpus, embedder, index: { folder: index } });
    const manifest = await buildIndex({ config, folder: index });
    const before = contents(index);
    writeFileSync(join(index, "build.json"), '{"formatVersion":1}');
    const events: BuildEvent[] = [];
    expect(await buildIndex({ config, folder: index, onEvent: (event) => events.push(event) })).toEqual(manifest);
    const { kind, sources } = manifest;
    expect(events).toEqual([{ kind: "unchanged", index: { kind, asked: "dense", sources, changedSince: [] } }]);
    expect(contents(index)).toEqual(before);

    const afterwards = new Date(Date.now() + 60_000);
    utimesSync(corpus, afterwards, afterwards);
    await buildIndex({ config, folder: index, onEvent: (event) => events.push(event) });
    expect(events.at(-1)).toMatchObject({ kind: "unchanged", index: { changedSince: ["corpus.jsonl"] } });

    const wider = retrievalConfig({ corpus, embedder: { kind: "hashed", dimensions: 64 }, index: { folder: index } });
    await expect(buildIndex({ config: wider, folder: index })).rejects.toThrow("dimensions: 64 is asked for, the index has 32");
    appendFileSync(corpus, `${JSON.stringify({ id: "new", title: "", text: "one more" })}\n`);
    await expect(buildIndex({ config, folder: index })).rejects.toThrow(
      /holds a finished index of corpus\.jsonl \(\d+ bytes\), asked for is one of .*--fresh/,
    );
    const fresh = await buildIndex({ config: wider, folder: index, fresh: true });
    expect(fresh).toMatchObject({ documents: { count: 51 }, vectors: { dimensions: 64 } });
    // A corpus that can't be read, or an index that would not fit, does not cost the one that is there.
    writeFileSync(corpus, "no JSON\n");
    await expect(buildIndex({ config: wider, folder: index, fresh: true })).rejects.toThrow(DataError);
    const full = { freeDisk: async () => 10, freeMemory: () => 10, usedMemory: () => 0 };
    writeFileSync(corpus, `${JSON.stringify({ id: "1", text: "some words" })}\n`);
    await expect(buildIndex({ config: wider, folder: index, fresh: true, machine: full })).rejects.toThrow(ConfigError);
    expect(await readManifest(index)).toEqual(fresh);
  });

  it("refuses to go on with other settings or a changed corpus, naming both sides", async () => {
    const corpus = writeCorpus(folder, documents);
    const config = retrievalConfig({ corpus, embedder, index: { folder: index } });
    const controller = new AbortController();
    const stop = (event: BuildEvent) => event.kind === "documents" && controller.abort();
    await expect(buildIndex({ config, folder: index, signal: controller.signal, onEvent: stop })).rejects.toThrow(/abort/i);
    // All passages were usable: whether others would have been left out changes nothing.
    const other = retrievalConfig({ corpus, embedder: { kind: "hashed", dimensions: 64 }, passageWords: 50, skipBad: true });
    await expect(buildIndex({ config: other, folder: index })).rejects.toThrow(
      /unfinished index of other settings:\n {2}embedder\.dimensions: 32 before, 64 now\n {2}passageWords: 100 before, 50 now\ngo on with what it began with \(cosearch index build --corpus .*\), or start over with --fresh/,
    );
    appendFileSync(corpus, `${JSON.stringify({ id: "new", title: "", text: "one more" })}\n`);
    await expect(buildIndex({ config, folder: index })).rejects.toThrow(/corpus\.1 \(corpus\.jsonl\)\.bytes: \d+ before, \d+ now/);
  });

  it("stops at the first unusable passage, or leaves them out and lists them", async () => {
    const corpus = writeCorpus(folder, [
      ...documents.slice(0, 5),
      { id: "p2", title: "", text: "again" },
      { id: "e", title: "", text: "" },
    ]);
    const config = { corpus, embedder, index: { folder: index } };
    await expect(buildIndex({ config: retrievalConfig(config), folder: index })).rejects.toThrow(/corpus\.jsonl:7: /);
    const skipping = retrievalConfig({ ...config, skipBad: true, passageWords: 50 });
    // Nothing was finished, so nothing holds it to the settings it began with.
    const manifest = await buildIndex({ config: skipping, folder: index });
    expect(manifest.documents).toMatchObject({ count: 5, skipped: 2 });
    const listed = readFileSync(join(index, "skipped.jsonl"), "utf8").trimEnd().split("\n");
    expect(listed.map((line) => JSON.parse(line) as unknown)).toEqual(
      expect.arrayContaining([
        { file: corpus, line: 6, reason: expect.stringContaining("is already used in line 3") },
        { file: corpus, line: 7, reason: expect.any(String) },
      ]),
    );
  });

  it("tells where all passages are unusable, and can be stopped while it only leaves out", async () => {
    const bad = Array.from({ length: 3 }, (_, row) => ({ id: `e${row}`, title: "", text: "" }));
    const config = retrievalConfig({ corpus: writeCorpus(folder, bad), embedder, skipBad: true });
    await expect(buildIndex({ config, folder: index })).rejects.toThrow("corpus.jsonl: holds no passage: all 3 were unusable");
    await expect(buildIndex({ config, folder: index, signal: AbortSignal.abort() })).rejects.toThrow(/abort/i);
  });

  it("refuses what won't fit before it begins, unless forced", async () => {
    const config = retrievalConfig({ corpus: writeCorpus(folder, documents), embedder });
    const machine = { freeDisk: async () => 1000, freeMemory: () => 2 ** 40, usedMemory: () => 0 };
    await expect(buildIndex({ config, folder: index, machine })).rejects.toThrow(/needs about .*\(texts .*\), but the disk of .*--force/);
    expect(existsSync(join(index, "documents"))).toBe(false);
    await buildIndex({ config, folder: index, machine, force: true });
    expect(await idsFound({}, ["Passage 7"])).toHaveLength(1);
  });

  it("lets one process build at a time, and needs a corpus and a folder of its own", async () => {
    const config = retrievalConfig({ corpus: writeCorpus(folder, documents.slice(0, 5)), embedder });
    mkdirSync(index);
    const release = await lockFolder(index);
    await expect(buildIndex({ config, folder: index })).rejects.toThrow(/is in use by process \d+/);
    await release();
    await buildIndex({ config, folder: index });
    await expect(buildIndex({ config: retrievalConfig({}), folder: index })).rejects.toThrow("retrieval.corpus: is needed");
    await expect(buildIndex({ config, folder })).rejects.toThrow("holds other things");
  });
});
