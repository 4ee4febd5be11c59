import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ConfigError } from "../errors.ts";
import { type ConfigSource, loadConfig, loadRetrievalConfig } from "./load-config.ts";

const minimal = `data:
  train: train.jsonl
  test: test.jsonl
retrieval:
  corpus: ../corpus.jsonl
agent:
  model: models/agent
ranker:
  model: /models/ranker
`;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cosearch-config-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function load(text: string, source: Partial<ConfigSource> = {}) {
  const file = join(folder, "config.yaml");
  writeFileSync(file, text);
  return loadConfig({ file, ...source });
}

function problem(text: string, source: Partial<ConfigSource> = {}): string {
  try {
    load(text, source);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as Error).message;
  }
  throw new Error("the configuration was accepted");
}

describe("loadConfig", () => {
  test("fills in the paper's numbers and resolves paths against the file's folder", () => {
    const config = load(minimal);
    expect(config.grpo.groupSize).toBe(8);
    expect(config.data.train).toBe(join(folder, "train.jsonl"));
    expect(config.retrieval.corpus).toBe(resolve(folder, "../corpus.jsonl"));
    expect(config.ranker.model).toBe("/models/ranker");
  });

  test("--set, --seed and --steps override; values are YAML; paths are relative to the current folder", () => {
    const config = load(minimal, {
      set: ["grpo.groupSize=4", "grpo.dualClip=null", "reward.cutoffs=[1, 2]", "data.dev=dev.jsonl", "note=a: b", "name=2026"],
      seed: "7",
      steps: "12",
    });
    expect(config).toMatchObject({ seed: 7, note: "a: b", name: "2026" });
    expect(config.training.steps).toBe(12);
    expect(config.grpo).toMatchObject({ groupSize: 4, dualClip: null });
    expect(config.reward.cutoffs).toEqual([1, 2]);
    expect(config.data.dev).toBe(resolve("dev.jsonl"));
  });

  test("an unknown key names file, line, key and the nearest known one", () => {
    expect(problem(`${minimal}grpo:\n  groupsize: 4\n`)).toMatch(
      /config\.yaml:11: grpo\.groupsize: unknown key \(did you mean groupSize\?\)/,
    );
    expect(problem(`${minimal}colour: red\n`)).toMatch(/colour: unknown key; known here: name, note, seed/);
    expect(problem(minimal, { set: ["trainig.steps=3"] })).toMatch(
      /--set trainig\.steps=3: unknown key trainig\.steps \(did you mean training\.steps\?\)/,
    );
    expect(problem(minimal, { set: ["__proto__.x=1"] })).toMatch(/unknown key __proto__\.x/);
  });

  test("a wrong type or value names what is expected and what was found", () => {
    expect(problem(`${minimal}seed: one\n`)).toMatch(/config\.yaml:10: seed: expected a number \(.*\), got "one"/);
    expect(problem(minimal, { seed: "-1" })).toMatch(/^--seed: seed: expected a value of at least 0 .*got -1/);
    expect(problem(minimal, { seed: "99999999999" })).toMatch(/^--seed: seed: expected a value of at most 4294967295/);
    expect(problem(minimal, { steps: "many" })).toMatch(/^--steps: training\.steps: expected a number .*got "many"/);
    expect(problem(`${minimal}system: magic\n`)).toMatch(
      /system: expected one of retrieval-only, fixed-ranker, cosearch, oracle .*got "magic"/,
    );
  });

  test("missing keys and settings that contradict each other are named", () => {
    expect(problem("name: x\n")).toMatch(/data: is missing: expected a section/);
    expect(problem(minimal.replace("  test: test.jsonl\n", ""))).toMatch(
      /config\.yaml:1: data\.test: is missing: expected a text \(held-out questions/,
    );
    expect(problem(minimal, { set: ["retrieval.candidates=3"] })).toMatch(
      /ranker\.topK: must not exceed retrieval\.candidates \(3\), got 5/,
    );
  });

  test("a file may extend another one; paths stay relative to the file that names them", () => {
    mkdirSync(join(folder, "variants"));
    writeFileSync(join(folder, "base.yaml"), `${minimal}grpo:\n  groupSize: 4\n  clipLow: 0.1\n`);
    const file = join(folder, "variants", "small.yaml");
    writeFileSync(file, "extends: ../base.yaml\nname: small\ndata:\n  test: short.jsonl\ngrpo:\n  groupSize: 2\n");
    const config = loadConfig({ file });
    expect(config.name).toBe("small");
    expect(config.grpo).toMatchObject({ groupSize: 2, clipLow: 0.1 });
    expect(config.data).toMatchObject({ train: join(folder, "train.jsonl"), test: join(folder, "variants", "short.jsonl") });
    writeFileSync(file, "extends: small.yaml\n");
    expect(() => loadConfig({ file })).toThrow(/extends itself/);
    writeFileSync(join(folder, "base.yaml"), `${minimal}grpo:\n  groupSize: few\n`);
    writeFileSync(file, "extends: ../base.yaml\n");
    expect(() => loadConfig({ file })).toThrow(/base\.yaml:11: grpo\.groupSize: expected/);
  });

  test("null in an extending file removes what was inherited, unless the schema takes null as a value", () => {
    const base = `${minimal}  lora:\n    rank: 8\ngrpo:\n  groupSize: 4\n`;
    writeFileSync(join(folder, "base.yaml"), base.replace("../corpus.jsonl", "../corpus.jsonl\n  embedder:\n    dimensions: 128"));
    const over = (text: string, source: Partial<ConfigSource> = {}) => load(`extends: base.yaml\n${text}`, source);
    const remote = over("retrieval:\n  corpus: null\n  embedder: {dimensions: null}\n  remote: {url: http://127.0.0.1:1}\n");
    expect(remote.retrieval.corpus).toBeUndefined();
    expect(remote.retrieval.embedder.dimensions).toBeUndefined();
    expect(over("retrieval: {embedder: null}\n").retrieval.embedder.dimensions).toBeUndefined();
    expect(over("ranker: {lora: null}\ngrpo: {groupSize: null, dualClip: null}\n")).toMatchObject({
      ranker: expect.not.objectContaining({ lora: expect.anything() }),
      grpo: { groupSize: 8, dualClip: null },
    });
    const removed = over("", { set: ["retrieval.embedder=null", "ranker.lora.rank=null", "agent.lora.rank=null", "grpo.dualClip=null"] });
    expect(removed.retrieval.embedder.dimensions).toBeUndefined();
    expect(removed.ranker.lora?.rank).toBe(16);
    expect(removed.agent.lora).toBeUndefined();
    expect(removed.grpo.dualClip).toBeNull();
    expect(() => over("data:\n  train: null\n")).toThrow(/config\.yaml:3: data\.train: is missing/);
    expect(() => over("retreival: null\n")).toThrow(/config\.yaml:2: retreival: unknown key \(did you mean retrieval\?\)/);
    expect(() => over("", { set: ["retreival=null"] })).toThrow(/unknown key retreival/);
    expect(() => over("", { set: ["ranker.lora=8"] })).toThrow(/ranker\.lora is a section: set its keys one by one/);
    expect(problem(`${minimal}seed: null\n`)).toMatch(/seed: expected a number .*got null/);
    expect(problem(minimal, { set: ["training.steps="] })).toMatch(/--set training\.steps=: training\.steps: expected a number .*got ""/);
  });

  test("a later flag stands, whether it removes a section or fills it again", () => {
    const onnx = ["retrieval.embedder.kind=onnx", "retrieval.embedder.model=x"];
    expect(load(minimal, { set: [...onnx, "retrieval.embedder=null"] }).retrieval.embedder.model).toBeUndefined();
    const served = ["retrieval.embedder=null", "retrieval.embedder.model=x", "retrieval.embedder.kind=endpoint"];
    expect(load(minimal, { set: [...served, "retrieval.embedder.url=http://127.0.0.1:1/v1"] }).retrieval.embedder.model).toBe("x");
  });

  test("a conflict with an inherited value names its file and how to remove it", () => {
    writeFileSync(join(folder, "base.yaml"), minimal);
    const remote = "retrieval:\n  remote: {url: http://127.0.0.1:1}\n";
    expect(problem(`extends: base.yaml\n${remote}`)).toMatch(
      /config\.yaml:3: retrieval\.remote\.url: excludes .* \(retrieval\.corpus comes from .*base\.yaml:5: "corpus: null" in .*config\.yaml, or --set retrieval\.corpus=null removes it\)$/,
    );
    expect(problem(minimal, { set: ["retrieval.remote.url=http://127.0.0.1:1"] })).toMatch(
      /\(retrieval\.corpus comes from .*config\.yaml:5: --set retrieval\.corpus=null removes it\)$/,
    );
    expect(problem("extends: base.yaml\nagent:\n  endpoint: {url: http://127.0.0.1:1/v1}\n")).toMatch(
      /agent\.endpoint: excludes agent\.model: .*\(agent\.model comes from .*base\.yaml:7: "model: null" in/,
    );
    expect(problem(minimal.replace("  corpus:", "  remote: {url: http://127.0.0.1:1}\n  corpus:"))).toMatch(/the server or the data$/);
  });

  test("where several kinds of value are possible, all are named, or what is wrong inside the one that was given", () => {
    expect(problem(minimal.replace("../corpus.jsonl", "5"))).toMatch(
      /config\.yaml:5: retrieval\.corpus: expected a text or a list \(passages: .*\), got 5/,
    );
    expect(problem(minimal.replace("../corpus.jsonl", "[]"))).toMatch(/retrieval\.corpus: expected at least 1 entry \(.*\), got \[\]/);
    expect(problem(minimal.replace("../corpus.jsonl", "[a, 1]"))).toMatch(/retrieval\.corpus\[1\]: expected a text \(.*\), got 1/);
  });

  test("all problems are told at once", () => {
    expect(problem(`${minimal}seed: one\nsystem: magic\n`).split("\n")).toHaveLength(2);
  });

  test("unreadable files and broken YAML are told with their place", () => {
    expect(() => loadConfig({ file: join(folder, "absent.yaml") })).toThrow(/absent\.yaml: can't be read \(ENOENT\)/);
    expect(problem("a: [1\nb: 2\n")).toMatch(/config\.yaml:\d+: not valid YAML/);
    expect(problem("- 1\n- 2\n")).toMatch(/expected a file of "key: value" lines/);
    expect(problem(minimal, { set: ["seed"] })).toMatch(/--set seed: expected dotted\.key=value/);
  });
});

describe("loadRetrievalConfig", () => {
  test("reads two sections of a file, or none of any file, and lets flags win", () => {
    const file = join(folder, "config.yaml");
    writeFileSync(file, `${minimal}training:\n  steps: wrong\n`);
    const { retrieval, serving } = loadRetrievalConfig({
      file,
      set: ["serving.port=0", "retrieval.kind=dense"],
      overrides: [{ flag: "--kind hybrid", key: "retrieval.kind", value: "hybrid" }],
    });
    expect(retrieval).toMatchObject({ corpus: resolve(folder, "../corpus.jsonl"), kind: "hybrid", candidates: 50 });
    expect(serving.port).toBe(0);
    expect(loadRetrievalConfig({}).retrieval).toMatchObject({ cacheSize: 20_000, index: {} });
  });

  test("keeps a server's model name as it is", () => {
    const file = join(folder, "config.yaml");
    writeFileSync(file, "retrieval:\n  embedder:\n    kind: endpoint\n    url: http://127.0.0.1:1/v1\n    model: bge-small\n");
    expect(loadRetrievalConfig({ file }).retrieval.embedder.model).toBe("bge-small");
  });

  test("names the flag, the line and the section that can't be", () => {
    const file = join(folder, "config.yaml");
    writeFileSync(file, "retrieval:\n  kind: sparse\nretreival:\n  kind: dense\n");
    expect(() => loadRetrievalConfig({ file })).toThrow(/config\.yaml:3: retreival: unknown key \(did you mean retrieval\?\)/);
    writeFileSync(file, "retrieval:\n  kind: sparse\n");
    expect(() => loadRetrievalConfig({ file })).toThrow(
      /config\.yaml:2: retrieval\.kind: expected one of dense, bm25, hybrid .*got "sparse"/,
    );
    expect(() => loadRetrievalConfig({ set: ["agent.model=x"] })).toThrow(
      /--set agent\.model=x: only keys of the sections retrieval and serving/,
    );
    const overrides = [{ flag: "--kind sparse", key: "retrieval.kind", value: "sparse" }];
    expect(() => loadRetrievalConfig({ overrides })).toThrow(/^--kind sparse: retrieval\.kind: expected one of/);
    expect(() => loadRetrievalConfig({ set: ["retrieval.embedder.model=a/b"] })).toThrow(
      /embedder\.kind: is needed beside embedder\.model/,
    );
  });
});
