import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cosearch } from "./fixtures/cli/tiny-project.ts";
import { smallCorpus, writeCorpus } from "./fixtures/retrieval/small-corpus.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "cosearch-index-cli-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("cosearch index", () => {
  test("a folder of texts is built, searched, described and verified", async () => {
    const docs = join(folder, "docs");
    mkdirSync(docs);
    writeFileSync(join(docs, "keys.md"), "# Keys\n\nRotate the signing keys every ninety days with `keyctl rotate`.\n");
    writeFileSync(join(docs, "backup.txt"), "Backups are written to tape every night and kept for a year.\n");
    writeFileSync(join(docs, "evil.md"), "# Escapes \u001b[2J\n\nA text that would clear \u001b[2J the terminal.\n");
    const index = join(folder, "docs-index");
    const built = await cosearch(["index", "build", "--corpus", docs, "--index", index, "--kind", "hybrid"]);
    expect(built).toMatchObject({ code: 0 });
    expect(built.stdout).toContain(`${index}: hybrid index of 3 passages`);
    expect(built.stdout).toContain(`next: cosearch index search "..." --index ${index}`);
    expect(built.stderr).toMatch(/3 passages: about .* of disk \(.* free\), .* of memory/);

    const found = await cosearch(["index", "search", "how are keys rotated", "--index", index, "--top", "2"]);
    expect(found.stdout).toMatch(/^ {2}1 +0\.\d{4} {2}Keys\n {5}Keys Rotate the signing keys/);
    const json = await cosearch(["index", "search", "rotate keys", "escapes", "--index", index, "--top", "1", "--kind", "bm25", "--json"]);
    const results = JSON.parse(json.stdout) as { query: string; results: { id: string; rank: number; score: number }[] }[];
    expect(results.map(({ query, results: [first] }) => [query, first?.rank, first?.id])).toEqual([
      ["rotate keys", 1, "keys.md#1"],
      ["escapes", 1, "evil.md#1"],
    ]);
    const evil = await cosearch(["index", "search", "escapes", "--index", index]);
    expect(evil.stdout).toContain("Escapes [2J");
    expect(evil.stdout).not.toContain("\u001b");

    const info = await cosearch(["index", "info", "--index", index]);
    expect(info.stdout).toMatch(/kind +hybrid\npassages +3\nmade from +docs \(\d+ bytes\)\nembedder +hashed \(hashed\), 384 dimensions/);
    const whole = await cosearch(["index", "verify", "--index", index, "--json"]);
    expect(JSON.parse(whole.stdout)).toMatchObject({ index, whole: true });
    writeFileSync(join(index, "vectors.f32"), "short");
    const damaged = await cosearch(["index", "verify", "--index", index]);
    expect(damaged).toMatchObject({ code: 2 });
    expect(damaged.stderr).toContain("vectors.f32: has 5 bytes, the manifest says 4608");
  }, 60_000);

  test("Ctrl-C keeps what is done, and the same command goes on", async () => {
    const index = join(folder, "stopped");
    const command = ["index", "build", "--corpus", writeCorpus(folder, smallCorpus(6000)), "--index", index];
    const stopped = await cosearch(command, { interruptAt: /embedding +\d/ });
    expect(stopped.code).toBe(130);
    expect(stopped.stderr).toContain("interrupted; what is done is kept: the same command goes on where it stopped");
    const info = await cosearch(["index", "info", "--index", index]);
    expect(info.stdout).toContain("an unfinished index");
    expect(info.stdout).toContain("done: documents, embedder");
    const resumed = await cosearch([...command, "--json"]);
    expect(resumed).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(resumed.stdout)).toMatchObject({ index, kind: "dense", documents: { count: 6000 } });
  }, 60_000);

  test("unusable passages stop the build or are left out with --skip-bad; a configuration and --set work too", async () => {
    const corpus = writeCorpus(folder, [...smallCorpus(3), { id: "x", text: "" }], "bad.jsonl");
    const config = join(folder, "config.yaml");
    writeFileSync(config, `retrieval:\n  corpus: bad.jsonl\n  kind: bm25\n  index:\n    folder: from-config\n`);
    const refused = await cosearch(["index", "build", "--config", config]);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain(`${corpus}:4: `);
    const built = await cosearch(["index", "build", "--config", config, "--skip-bad", "--set", "retrieval.kind=hybrid", "--fresh"]);
    expect(built.stdout).toContain("hybrid index of 3 passages, 1 left out: see ");
    expect(readFileSync(join(folder, "from-config", "skipped.jsonl"), "utf8")).toContain('"line":4');
  }, 60_000);

  test.each([
    [["index", "build", "--corpus", "nowhere.jsonl", "--index", "x"], 2, /nowhere\.jsonl: can't be read \(ENOENT\)/],
    [["index", "serch"], 2, /unknown command index serch \(did you mean search\?\)/],
    [["index", "search", "q", "--index", "x"], 3, /x holds no index: build one with/],
  ])("%j is refused with the reason", async (args, code, message) => {
    const outcome = await cosearch(args, { cwd: folder });
    expect(outcome).toMatchObject({ code, stdout: "" });
    expect(outcome.stderr).toMatch(message);
  });
});
