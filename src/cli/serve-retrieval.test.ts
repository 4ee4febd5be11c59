import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { cosearch } from "../../test/fixtures/cli/tiny-project.ts";
import { documents } from "../../test/fixtures/training/tiny-world.ts";

const folder = mkdtempSync(join(tmpdir(), "cosearch-serve-"));
const corpus = join(folder, "corpus.jsonl");
writeFileSync(corpus, documents.map((document) => `${JSON.stringify(document)}\n`).join(""));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

/** Starts `cosearch serve retrieval` and waits for its first line of output. */
async function start(args: readonly string[], environment: NodeJS.ProcessEnv = {}) {
  const main = fileURLToPath(new URL("main.ts", import.meta.url));
  const command = ["--import", import.meta.resolve("tsx"), main, "serve", "retrieval", ...args];
  const child = spawn(process.execPath, command, { env: { ...process.env, ...environment }, stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  const text = { stdout: "", stderr: "" };
  const line = new Promise<string>((resolve, reject) => {
    child.stderr.on("data", (chunk: Buffer) => {
      text.stderr += chunk.toString();
    });
    child.stdout.on("data", (chunk: Buffer) => {
      text.stdout += chunk.toString();
      if (text.stdout.includes("\n")) resolve(text.stdout);
    });
    child.on("exit", (code) => reject(new Error(`exit code ${code}: ${text.stderr}`)));
  });
  return { child, text, line: await line };
}

describe("cosearch serve retrieval", () => {
  it("serves a corpus until it is told to stop", async () => {
    const flags = ["--corpus", corpus, "--kind", "bm25", "--port", "0", "--json", "--set", "serving.tokenVariable=COSEARCH_TEST_TOKEN"];
    const { child, line, text } = await start(flags, { COSEARCH_TEST_TOKEN: "open-sesame" });
    const { url, port, documents: count } = JSON.parse(line) as { url: string; port: number; documents: number };
    expect(count).toBe(documents.length);
    const post = (headers: Readonly<Record<string, string>>) =>
      fetch(`${url}/retrieve`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify({ queries: ["capital of peru"], topk: 1 }),
      });
    expect((await post({})).status).toBe(401);
    const contents = '"peru"\nthe capital of peru is lima';
    expect(await (await post({ authorization: "Bearer open-sesame" })).json()).toEqual({ result: [[{ id: "passage-3", contents }]] });

    const busy = await cosearch(["serve", "retrieval", "--corpus", corpus, "--kind", "bm25", "--port", String(port)]);
    expect(busy.code).toBe(2);
    expect(busy.stderr).toContain(`port ${port} of 127.0.0.1 is in use by another program`);

    child.kill("SIGTERM");
    // Not "exit": its last words may still be on their way.
    const [code] = (await once(child, "close")) as [number];
    expect(code).toBe(0);
    expect(text.stderr).toContain("stopping");
    expect(text.stdout + text.stderr).not.toContain("sesame");
    await expect(post({})).rejects.toThrow();
  }, 30_000);

  it("leaves unusable passages out with --skip-bad, and names it where one stops the start", async () => {
    const bad = join(folder, "bad.jsonl");
    writeFileSync(bad, `${JSON.stringify(documents[0])}\n{"id":"empty","text":""}\n`);
    const flags = ["--corpus", bad, "--kind", "bm25", "--port", "0"];
    const { code, stderr } = await cosearch(["serve", "retrieval", ...flags]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/bad\.jsonl:2: .*\nor leave unusable passages out with --skip-bad/)]);
    const { line, text } = await start([...flags, "--skip-bad"]);
    expect(line).toMatch(/^serving bm25 over 1 passages/);
    expect(text.stderr).toContain("1 unusable passages are left out (--skip-bad)");
  }, 30_000);

  it("warns when everyone can search, and tells where it listens", async () => {
    const { line, text } = await start(["--corpus", corpus, "--kind", "bm25", "--port", "0", "--host", "0.0.0.0"]);
    expect(line).toMatch(/^serving bm25 over 6 passages in memory at http:\/\/0\.0\.0\.0:\d+ \(POST \/retrieve/);
    const warning = /warning: anyone who reaches 0\.0\.0\.0 can search here: set serving\.tokenVariable/;
    await vi.waitFor(() => expect(text.stderr).toMatch(warning), { timeout: 20_000 });
  }, 30_000);

  it.each([
    [["--corpus", corpus, "--format", "pdf"], /--format: retrieval\.format: /],
    [["--port", "70000"], /--port: serving\.port: .*70000/],
    [["--corpus", corpus, "--set", "serving.tokenVariable=COSEARCH_NO_TOKEN"], /environment variable COSEARCH_NO_TOKEN is not set/],
  ])(
    "refuses %j",
    async (flags, message) => {
      const { code, stderr } = await cosearch(["serve", "retrieval", ...flags]);
      expect(code).toBe(2);
      expect(stderr).toMatch(message);
    },
    30_000,
  );
});
