import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stringify } from "yaml";
import { cosearch } from "../../test/fixtures/cli/tiny-project.ts";
import { closeServers, sendJson, startServer } from "../../test/fixtures/http-server.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "cosearch-doctor-"));
});
afterAll(async () => {
  await closeServers();
  rmSync(folder, { recursive: true, force: true });
});

async function checksOf(url: string): Promise<{ name: string; ok: boolean; found: string }[]> {
  const file = join(folder, "config.yaml");
  writeFileSync(file, stringify({ extends: resolve("configs/atlas.yaml"), retrieval: { corpus: null, embedder: null, remote: { url } } }));
  return JSON.parse((await cosearch(["doctor", "--config", file, "--json"])).stdout);
}

test("a server that fails is told once, after one attempt; parts are looked at together only when each is well", async () => {
  let requests = 0;
  const failing = await startServer((_, response) => {
    requests++;
    sendJson(response, 503, { detail: "starting" });
  });
  const checks = await checksOf(failing);
  expect(requests).toBe(1);
  expect(checks.filter(({ ok }) => !ok)).toEqual([
    expect.objectContaining({ name: "retrieval", found: expect.stringMatching(/failed after 1 attempt: .*503/) }),
  ]);
  expect(checks.map(({ name }) => name)).not.toContain("agent tokens");

  const passages = Array.from({ length: 10 }, (_, index) => ({ document: { id: `${index}`, contents: `"T${index}"\nwords` }, score: 1 }));
  const well = await startServer(({ body }, response) => {
    const { queries } = JSON.parse(body) as { queries: string[] };
    sendJson(response, 200, { result: queries.map(() => passages) });
  });
  expect((await checksOf(well)).find(({ name }) => name === "agent tokens")).toMatchObject({ ok: true });
}, 30_000);

test("an execution provider is tried, and one that can't be used is named with what to do", async () => {
  const file = join(folder, "providers.yaml");
  writeFileSync(file, stringify({ extends: resolve("configs/atlas.yaml"), engine: { executionProviders: ["cuda", "cpu"] } }));
  const outcome = await cosearch(["doctor", "--config", file, "--json"]);
  const checks = JSON.parse(outcome.stdout) as { name: string; ok: boolean; found: string }[];
  const check = checks.find(({ name }) => name === "engine.executionProviders");
  // A machine with CUDA passes; any other is told what is missing.
  if (check?.ok) expect(check.found).toBe("cuda, cpu");
  else expect(check?.found).toMatch(/cuda can't be used on this machine: .*\n?.*onnxruntime knows here: cpu .*ONNXRUNTIME_NODE_INSTALL/s);
}, 30_000);
