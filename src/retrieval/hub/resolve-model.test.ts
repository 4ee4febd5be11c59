import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type FakeHub, startFakeHub } from "../../../test/fixtures/fake-hub.ts";
import { closeServers } from "../../../test/fixtures/http-server.ts";
import { resolveCorpusPath, resolveModel } from "./resolve-model.ts";

const commit = "abcdefabcdefabcdefabcdefabcdefabcdefabcd";
const file = (content: string) => ({ content: Buffer.from(content) });
const large = (content: string) => ({ content: Buffer.from(content), large: true });

let folder: string;
let hub: FakeHub;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "cosearch-hub-"));
  hub = await startFakeHub([
    {
      kind: "model",
      name: "lab/encoder",
      commit,
      files: { "config.json": file("{}"), "onnx/model.onnx": large("graph"), "vocab.txt": file("a") },
    },
    {
      kind: "dataset",
      name: "lab/wiki",
      commit,
      files: {
        "README.md": file("# wiki"),
        "data/part-0.jsonl": large("0"),
        "data/part-1.jsonl": large("1"),
        "data/more/part-2.jsonl": large("2"),
        "notes/one.txt": file("one"),
      },
    },
  ]);
});

afterEach(async () => {
  await closeServers();
  await rm(folder, { recursive: true, force: true });
});

const options = (extra: Record<string, string> = {}) => ({
  environment: { HF_HOME: folder, HF_ENDPOINT: hub.address, ...extra },
  backoffMilliseconds: 1,
});
const offline = { HF_HUB_OFFLINE: "1" };

/** A snapshot as another client leaves it: no listing of ours. */
async function foreignSnapshot(files: Readonly<Record<string, string>>): Promise<string> {
  const storage = join(folder, "hub/models--lab--encoder");
  await mkdir(join(storage, "refs"), { recursive: true });
  await mkdir(join(storage, "blobs"), { recursive: true });
  await writeFile(join(storage, "refs/main"), commit);
  for (const [path, content] of Object.entries(files)) {
    const blob = join(storage, "blobs", Buffer.from(path).toString("hex"));
    const link = join(storage, "snapshots", commit, path);
    await mkdir(dirname(link), { recursive: true });
    await writeFile(blob, content);
    await symlink(blob, link);
  }
  return join(storage, "snapshots", commit);
}

describe("resolveModel", () => {
  it("prefers a local path, pulls a name, and asks the Hub no more once it is cached", async () => {
    expect(await resolveModel(folder, options())).toBe(folder);
    expect(hub.requests).toHaveLength(0);
    const snapshot = await resolveModel("lab/encoder", options());
    expect(await readFile(join(snapshot, "onnx/model.onnx"), "utf8")).toBe("graph");
    const before = hub.requests.length;
    expect(await resolveModel("lab/encoder", options())).toBe(snapshot);
    expect(await resolveModel(`lab/encoder@${commit}`, options(offline))).toBe(snapshot);
    expect(hub.requests).toHaveLength(before);
    await expect(resolveModel("lab/encoder@main/x", options())).rejects.toThrow(/no such revision/);
  });

  const shard = "model-00001-of-00002.safetensors";
  const otherShard = "model-00002-of-00002.safetensors";
  const table = JSON.stringify({ weight_map: { a: shard, b: otherShard } });
  const small = { "config.json": "{}", "tokenizer.json": "{}" };

  it.each<[string, Readonly<Record<string, string>>]>([
    ["one file of weights", { ...small, "model.safetensors": "1" }],
    ["all shards", { ...small, [shard]: "1", [otherShard]: "2", "model.safetensors.index.json": table }],
    ["GGUF, which holds its tokenizer", { "config.json": "{}", "model.gguf": "1" }],
  ])("uses another client's snapshot with %s, without a request", async (_, files) => {
    const snapshot = await foreignSnapshot(files);
    expect(await resolveModel("lab/encoder", options())).toBe(snapshot);
    expect(hub.requests).toHaveLength(0);
  });

  it.each<[string, Readonly<Record<string, string>>, { needsGraph?: boolean }]>([
    ["one shard of two", { ...small, [shard]: "1", "model.safetensors.index.json": table }, {}],
    ["a shard without the table of contents", { ...small, [shard]: "1" }, {}],
    ["no tokenizer", { "config.json": "{}", "model.safetensors": "1" }, {}],
    ["no graph, which is needed", { ...small, "model.safetensors": "1" }, { needsGraph: true }],
  ])("completes another client's snapshot with %s", async (_, files, needs) => {
    const snapshot = await foreignSnapshot(files);
    expect(await resolveModel("lab/encoder", { ...options(), ...needs })).toBe(snapshot);
    expect(await readFile(join(snapshot, "onnx/model.onnx"), "utf8")).toBe("graph");
  });

  it("names both possibilities when it is neither", async () => {
    await expect(resolveModel("lab/nothing", options())).rejects.toThrow(
      /"lab\/nothing": there is no such folder here, and as a model of the Hub: http.* has no model lab\/nothing/,
    );
    await expect(resolveModel("./models/x/y", options())).rejects.toThrow(
      /no such folder here, and a model of the Hub is named OWNER\/NAME/,
    );
    await expect(resolveModel("lab/encoder", options(offline))).rejects.toThrow(/no such folder here.*is not in the cache.*offline/);
    expect(hub.requests).toHaveLength(1);
  });
});

describe("resolveCorpusPath", () => {
  const inSnapshot = (path: string) => join(folder, "hub/datasets--lab--wiki/snapshots", commit, path);

  it.each([
    ["hf://datasets/lab/wiki/data/part-0.jsonl", ["data/part-0.jsonl"], 1],
    ["hf://datasets/lab/wiki@main/data/*.jsonl", ["data/part-0.jsonl", "data/part-1.jsonl"], 2],
    ["hf://datasets/lab/wiki/**/*.jsonl", ["data/more/part-2.jsonl", "data/part-0.jsonl", "data/part-1.jsonl"], 3],
    ["hf://datasets/lab/wiki/data/", ["data"], 3],
    [`hf://datasets/lab/wiki@${commit}`, [""], 5],
  ])("fetches what %s means, once", async (path, expected, fetched) => {
    const paths = expected.map((name) => (name === "" ? inSnapshot("").replace(/\/$/, "") : inSnapshot(name)));
    expect(await resolveCorpusPath(path, options())).toEqual(paths);
    expect(hub.requests.filter((request) => request.path.includes("/resolve/"))).toHaveLength(fetched);
    const before = hub.requests.length;
    expect(await resolveCorpusPath(path, options(offline))).toEqual(paths);
    expect(hub.requests).toHaveLength(before);
  });

  it("never takes a part for the whole", async () => {
    await resolveCorpusPath("hf://datasets/lab/wiki/data/part-0.jsonl", options());
    await expect(resolveCorpusPath("hf://datasets/lab/wiki/data/*", options(offline))).rejects.toThrow(/lacks data\/part-1\.jsonl/);
    expect(await resolveCorpusPath("hf://datasets/lab/wiki/data/*", options())).toHaveLength(2);
  });

  it("leaves local paths alone and refuses malformed addresses", async () => {
    expect(await resolveCorpusPath("docs/*.md", options())).toEqual(["docs/*.md"]);
    await expect(resolveCorpusPath("hf://lab/wiki/x", options())).rejects.toThrow(/expected hf:\/\/datasets\/OWNER\/NAME/);
    await expect(resolveCorpusPath("hf://datasets/lab/wiki/../x", options())).rejects.toThrow(/leave \. and \.\. out/);
    await expect(resolveCorpusPath("hf://datasets/lab/wiki/absent.tsv", options())).rejects.toThrow(/holds no such file/);
  });
});
