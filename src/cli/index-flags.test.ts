import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { runCommand } from "citty";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { retrievalConfig } from "../../test/fixtures/retrieval/small-corpus.ts";
import { buildArguments } from "../retrieval/indexing/go-on-command.ts";
import { newIndexSettings } from "../retrieval/indexing/index-settings.ts";
import { indexTarget } from "./index-flags.ts";
import { indexImportFaiss } from "./index-import-faiss.ts";
import { indexSearch } from "./index-search.ts";
import { indexVerify } from "./index-verify.ts";

let folder: string;
let config: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "cosearch-flags-"));
  config = join(folder, "config.yaml");
  writeFileSync(config, "retrieval:\n  corpus: a.jsonl\n  kind: bm25\n  index: { folder: i }\n");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the flags of index commands", () => {
  test("set what they name, paths seen from the current folder, and win over the file and --set", () => {
    const flags = ["--corpus", "x.jsonl", "--corpus=y.tsv", "--index", "here", "--kind", "hybrid", "--vectors", "ivf-pq", "--skip-bad"];
    const target = indexTarget("index build", ["--config", config, "--set", "retrieval.kind=dense", ...flags]);
    expect(target.folder).toBe(resolve("here"));
    expect(target.config).toMatchObject({
      corpus: [resolve("x.jsonl"), resolve("y.tsv")],
      kind: "hybrid",
      skipBad: true,
      index: { kind: "ivf-pq" },
    });
    expect(indexTarget("index build", ["--config", config])).toMatchObject({ folder: join(folder, "i"), config: { kind: "bm25" } });
  });

  test("leave Hub names and an endpoint's model names as they are; a folder becomes absolute", () => {
    const model = (kind: string, name: string) =>
      indexTarget("index build", ["--index", "i", "--model", name, "--embedder", kind, "--url", "http://127.0.0.1:1/v1"]).config.embedder
        .model;
    expect(model("onnx", "intfloat/e5-base-v2")).toBe("intfloat/e5-base-v2");
    expect(model("endpoint", "text-embedding-3-small")).toBe("text-embedding-3-small");
    expect(model("onnx", "./src")).toBe(resolve("src"));
  });

  test.each([
    { corpus: "/data/a b.jsonl", index: { folder: "/i" } },
    { corpus: ["/a.tsv", "/b.tsv"], format: "dpr", kind: "bm25", skipBad: true, passageWords: 60 },
    { corpus: "/a", kind: "hybrid", embedder: { kind: "hashed", dimensions: 64, idfPower: 2 }, index: { folder: "/i", metric: "cosine" } },
    {
      corpus: "/a",
      embedder: {
        kind: "onnx",
        model: "intfloat/e5-base-v2",
        queryPrefix: "query: ",
        documentPrefix: "",
        pooling: "cls",
        normalize: false,
      },
      index: { folder: "/i", kind: "ivf-pq", partitions: 64, subVectors: 96, bits: 4, probes: 9 },
    },
    {
      corpus: "/a",
      embedder: { kind: "endpoint", model: "m", url: "http://127.0.0.1:1/v1", apiKeyVariable: "KEY" },
      index: { folder: "/i", kind: "hnsw", location: "s3://bucket/it's", region: "eu", ef: 200 },
    },
  ])("are those of the command that goes on with a build (%#)", (retrieval) => {
    const config = retrievalConfig(retrieval);
    const command = buildArguments(config, newIndexSettings(config));
    expect(command.slice(0, 2)).toEqual(["index", "build"]);
    const { config: again } = indexTarget("index build", [...command.slice(2), "--index", "/i"]);
    expect(newIndexSettings(again)).toEqual(newIndexSettings(config));
    const reading = ({ format, passageWords, skipBad, corpus }: typeof config) => ({
      format,
      passageWords,
      skipBad,
      corpus: [corpus].flat(),
    });
    expect(reading(again)).toEqual(reading(config));
  });

  test.each([
    [["--corpus", "c.jsonl"], "index build: name the index folder with --index DIR"],
    [["--index", "x", "--vectors", "ivfpq"], "--vectors: retrieval.index.kind: "],
    [["--index", "x", "--model", "a/b"], "retrieval.embedder.kind: is needed beside embedder.model"],
    [["--index", "x", "--embedder", "onnx"], "retrieval.embedder.model: is needed by the onnx embedder"],
    [["--index", "x", "--set", "grpo.groupSize=4"], "only keys of the sections retrieval and serving count here"],
  ])("%j are refused with the reason", (flags, message) => {
    expect(() => indexTarget("index build", flags)).toThrow(message);
  });

  test.each([
    [indexSearch, ["--index", "x"], "give a query in quotes"],
    [indexSearch, ["q", "--index", "x", "--top", "0"], "--top must be a positive integer, got 0"],
    [indexVerify, ["--index", "x", "--sample", "few"], "--sample must be a whole number, got few"],
    [indexImportFaiss, ["--index", "x"], "name the FAISS file"],
  ])("arguments of a command are checked first (%#)", async (command, rawArgs, message) => {
    await expect(runCommand(command, { rawArgs })).rejects.toThrow(message);
  });
});
