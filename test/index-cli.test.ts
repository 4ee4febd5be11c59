import { mkdtempSync, rmSync } from "node:fs";
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
  test("Ctrl-C keeps what is done, and the same command goes on", async () => {
    const index = join(folder, "stopped");
    const command = ["index", "build", "--corpus", writeCorpus(folder, smallCorpus(6000)), "--index", index];
    const stopped = await cosearch(command, { interruptAt: /embedding +\d/ });
    expect(stopped.code).toBe(130);
    expect(stopped.stderr).toContain("interrupted; what is done is kept: the same command goes on where it stopped");
    const resumed = await cosearch([...command, "--json"]);
    expect(resumed).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(resumed.stdout)).toMatchObject({ index, kind: "dense", documents: { count: 6000 } });
  }, 120_000);

  test.each([
    [["index", "serch"], 2, /unknown command index serch \(did you mean search\?\)/],
    [["index", "search", "q", "--index", "x"], 3, /x holds no index: build one with/],
  ])("%j is refused with the reason", async (args, code, message) => {
    const outcome = await cosearch(args, { cwd: folder });
    expect(outcome).toMatchObject({ code, stdout: "" });
    expect(outcome.stderr).toMatch(message);
  });
});
