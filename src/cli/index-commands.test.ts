import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "citty";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { smallCorpus, writeCorpus } from "../../test/fixtures/retrieval/small-corpus.ts";
import type { Command } from "./command.ts";
import { indexBuild } from "./index-build.ts";
import { indexInfo } from "./index-info.ts";
import { indexSearch } from "./index-search.ts";
import { indexVerify } from "./index-verify.ts";

let folder: string;
let said: { out: string; err: string };
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cosearch-commands-"));
  for (const [stream, name] of [
    [process.stdout, "out"],
    [process.stderr, "err"],
  ] as const) {
    vi.spyOn(stream, "write").mockImplementation((text) => {
      said[name] += String(text);
      return true;
    });
  }
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a command and returns what it says on standard output and error. */
async function run(command: Command, ...rawArgs: string[]): Promise<{ readonly out: string; readonly err: string }> {
  said = { out: "", err: "" };
  await runCommand(command, { rawArgs });
  return said;
}

describe("the index commands", () => {
  test("build, search, describe and verify a folder of texts", async () => {
    const docs = join(folder, "docs");
    mkdirSync(docs);
    writeFileSync(join(docs, "keys.md"), "# Keys\n\nRotate the signing keys every ninety days with `keyctl rotate`.\n");
    writeFileSync(join(docs, "backup.txt"), "Backups are written to tape every night and kept for a year.\n");
    writeFileSync(join(docs, "evil\u001b[2J.md"), "# Escapes \u001b[2J\n\nA text that would clear \u001b[2J the terminal.\n");
    for (const name of ["scan.pdf", "copy.PDF", "plan.png", "Makefile"]) writeFileSync(join(docs, name), "not read");
    const index = join(folder, "index");
    const built = await run(indexBuild, "--corpus", docs, "--index", index, "--kind", "hybrid");
    expect(built.out).toContain(
      `${index}: hybrid index of 3 passages; 4 files of other kinds are not read: without an extension, pdf, png; `,
    );
    expect(built.out).toContain(`next: cosearch index search "..." --index ${index}`);
    expect(built.err).toMatch(
      /^4 files of other kinds are not read: without an extension, pdf, png\n3 passages: about .* of disk \(.* free\), .* of memory \(.* free\)\nreading \(%\) {2}0\/100 [\s\S]*reading \(%\) {2}100\/100 {2}3 passages/,
    );

    const again = await run(indexBuild, "--corpus", docs, "--index", index, "--kind", "bm25");
    expect(again.err).toMatch(
      /^the hybrid index is already built from docs \(\d+ bytes\): nothing to do; names and sizes were compared, not contents \(--fresh builds it again\)\nit holds a bm25 side, which searches use alone with --kind bm25\n$/,
    );
    utimesSync(join(docs, "keys.md"), new Date(), new Date(Date.now() + 60_000));
    const changed = await run(indexBuild, "--corpus", docs, "--index", index);
    expect(changed.err).toMatch(
      /\nwarning: changed since the index was built: docs; if the contents differ, build it again with --fresh\n$/,
    );

    const found = await run(indexSearch, "how are keys rotated", "--index", index, "--top", "2");
    expect(found.out).toMatch(/^ {2}1 +0\.\d{4} {2}Keys {2}\[keys\.md#1\]\n {5}Keys Rotate the signing keys/);
    const json = await run(indexSearch, "rotate keys", "escapes", "--index", index, "--top", "1", "--kind", "bm25", "--json");
    const results = JSON.parse(json.out) as { query: string; results: { id: string; rank: number; score: number }[] }[];
    expect(results.map(({ query, results: [first] }) => [query, first?.rank, first?.id])).toEqual([
      ["rotate keys", 1, "keys.md#1"],
      ["escapes", 1, "evil\u001b[2J.md#1"],
    ]);
    const evil = await run(indexSearch, "escapes", "zebra", "--index", index, "--kind", "bm25");
    expect(evil.out).toMatch(/^escapes\n.*Escapes \[2J {2}\[evil \[2J\.md#1\]\n[\s\S]*\n\nzebra\nnothing found\n$/);
    expect(evil.out).not.toContain("\u001b");

    const info = await run(indexInfo, "--index", index);
    expect(info.out).toMatch(/kind +hybrid\npassages +3\nmade from +docs \(\d+ bytes\)\nembedder +hashed \(hashed\), 384 dimensions/);
    const whole = await run(indexVerify, "--index", index, "--json");
    expect(JSON.parse(whole.out)).toMatchObject({ index, whole: true, checks: [{ name: "files" }, {}, {}, {}, { name: "sample" }] });
    writeFileSync(join(index, "vectors.f32"), "short");
    await expect(run(indexVerify, "--index", index)).rejects.toThrow("vectors.f32: has 5 bytes, the manifest says 4608");
  });

  test("unusable passages stop the build or are left out with --skip-bad; a configuration and --set count", async () => {
    const corpus = writeCorpus(folder, [...smallCorpus(3), { id: "x", text: "" }], "bad.jsonl");
    const config = join(folder, "config.yaml");
    writeFileSync(config, "retrieval:\n  corpus: bad.jsonl\n  kind: bm25\n  index:\n    folder: from config\n");
    const advice = "\nor leave unusable passages out with --skip-bad: they are counted";
    const failure = await run(indexBuild, "--config", config).catch((error: Error) => error.message);
    expect(failure).toMatch(new RegExp(`^${corpus}:4: text must be a non-empty string.*${advice}$`));
    const unfinished = await run(indexInfo, "--config", config);
    expect(unfinished.out).toMatch(/from config: an unfinished index \(.*\); done: nothing yet\n/);
    expect(unfinished.out).toContain(
      `\ngo on with  cosearch index build --corpus ${corpus} --kind bm25 --index '${join(folder, "from config")}'\n`,
    );
    const built = await run(indexBuild, "--config", config, "--skip-bad", "--set", "retrieval.kind=hybrid", "--json");
    expect(built.err).toBe("");
    expect(JSON.parse(built.out)).toMatchObject({ kind: "hybrid", documents: { count: 3, skipped: 1 } });
    expect(readFileSync(join(folder, "from config", "skipped.jsonl"), "utf8")).toContain('"line":4');
  });
});
