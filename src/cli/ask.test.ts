import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stringify } from "yaml";
import { cosearch } from "../../test/fixtures/cli/tiny-project.ts";
import { closeServers, sendJson, startServer } from "../../test/fixtures/http-server.ts";
import type { Answer } from "./answer-text.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "cosearch-ask-"));
});
afterAll(async () => {
  await closeServers();
  rmSync(folder, { recursive: true, force: true });
});

test("a service that fails is named, with what came before it, and ends in exit code 1", async () => {
  const content = '<reason>look it up</reason><tool_call>{"name":"search","arguments":{"query":"capital of peru"}}';
  const agent = await startServer(({ message }, response) => {
    if (message.url === "/v1/models") return sendJson(response, 200, { data: [{ id: "agent" }] });
    sendJson(response, 200, { choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }] });
  });
  const retrieval = await startServer((_, response) => sendJson(response, 500, { detail: "index is gone" }));
  const file = join(folder, "config.yaml");
  const settings = {
    system: "retrieval-only",
    data: { train: "train.jsonl", test: "test.jsonl" },
    retrieval: { remote: { url: retrieval, retries: 0 } },
    agent: { endpoint: { url: `${agent}/v1` } },
  };
  writeFileSync(file, stringify(settings));
  const ask = ["ask", "what is the capital of peru", "--config", file];
  const [told, shown] = await Promise.all([cosearch([...ask, "--json"]), cosearch(ask)]);
  const reason = /no answer: retrieval server .* failed after 1 attempt: .*500.*index is gone/;
  expect(told.code).toBe(1);
  expect(told.stderr).toMatch(reason);
  const answer = JSON.parse(told.stdout) as Answer;
  expect(answer).toMatchObject({ stopReason: "infra_error", error: expect.stringMatching(/index is gone/) });
  expect(answer).not.toHaveProperty("answer");
  expect(shown.code).toBe(1);
  expect(shown.stderr).toMatch(reason);
  expect(shown.stdout).toContain("A service failed: no answer.");
}, 30_000);
