import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import type { Answer } from "../src/cli/answer-text.ts";
import type { Summary } from "../src/evaluation/report/summary.ts";
import { cosearch, makeTinyProject, type TinyProject, tinySettings } from "./fixtures/cli/tiny-project.ts";
import { closeServers, sendJson, startServer } from "./fixtures/http-server.ts";

let project: TinyProject;
beforeAll(async () => {
  project = await makeTinyProject();
}, 120_000);
afterAll(() => rmSync(project.folder, { recursive: true, force: true }));
afterEach(closeServers);

interface Chat {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
}

/** A server whose agent searches once and answers with the last word of the first document it is shown, and whose ranker reverses. */
async function serveBoth(fail?: (chat: Chat) => boolean): Promise<{ url: string; chats: Chat[] }> {
  const chats: Chat[] = [];
  const address = await startServer(({ message, body }, response) => {
    if (message.url === "/v1/models") return sendJson(response, 200, { data: [{ id: "agent" }, { id: "ranker" }] });
    const chat = JSON.parse(body) as Chat;
    chats.push(chat);
    if (fail?.(chat)) return sendJson(response, 500, { error: { message: "out of memory" } });
    const content = chat.model === "agent" ? agentTurn(chat) : "<reason>in reverse</reason><rerank>[2] > [1]";
    sendJson(response, 200, { choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }] });
  });
  return { url: `${address}/v1`, chats };
}

function agentTurn({ messages }: Chat): string {
  const shown = /^\[1\] (?:.*\n)*?.* is (\w+)$/m.exec(messages.at(-1)?.content ?? "")?.[1];
  if (shown !== undefined) return `<reason>found</reason><answer>${shown}`;
  const country = messages[1]?.content.split(" ").at(-1);
  return `<reason>look it up</reason><tool_call>{"name":"search","arguments":{"query":"capital of ${country}"}}`;
}

function write(name: string, settings: object): string {
  const file = join(project.folder, name);
  writeFileSync(file, stringify({ ...tinySettings, ...settings }));
  return file;
}

describe("cosearch with inference endpoints", () => {
  test("evaluates and asks servers, keeps the result as a run's, and never trains them", async () => {
    const { url, chats } = await serveBoth();
    const both = {
      name: "servers",
      system: "fixed-ranker",
      agent: { endpoint: { url, model: "agent", timeoutSeconds: 20 }, maxSearches: 2 },
      ranker: { endpoint: { url, model: "ranker", timeoutSeconds: 20 }, topK: 2 },
    };
    const file = write("servers.yaml", both);
    const run = join(project.folder, "servers");
    const evaluated = await cosearch(["evaluate", "--config", file, "--run", run, "--json"]);
    expect(evaluated).toMatchObject({ code: 0 });
    const summary = JSON.parse(evaluated.stdout) as Summary;
    expect(summary.systems.fixedRanker).toMatchObject({ n: 6, f1: expect.any(Number) });
    expect(chats.filter(({ model }) => model === "ranker")).toHaveLength(6);
    const last = chats.findLast(({ model }) => model === "agent");
    expect(last?.messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
    expect(last?.messages[2]?.content).toMatch(/<\/tool_call>$/);
    expect(readFileSync(join(run, "evaluations", "test.json"), "utf8")).toContain('"questions": 6');

    const again = await cosearch(["evaluate", "--run", run, "--json"]);
    expect(JSON.parse(again.stdout)).toEqual(summary);
    const other = await cosearch(["evaluate", "--config", file, "--run", run, "--set", "ranker.topK=1"]);
    expect(other.code).toBe(3);
    expect(other.stderr).toMatch(/evaluations of another configuration.*\n.*ranker\.topK: 2 in the run, 1 now/);
    const asked = await cosearch(["ask", "what is the capital of peru", "--config", file, "--json"]);
    const answer = JSON.parse(asked.stdout) as Answer;
    expect(answer.turns).toHaveLength(2);
    expect(answer.turns[0]?.search?.candidates.length).toBeGreaterThan(0);
    const checked = await cosearch(["doctor", "--config", file, "--json"]);
    expect(checked.stdout).toContain(`${url}, model agent (chat); the server offers: agent, ranker`);

    const trained = await cosearch(["train", "--config", file]);
    expect(trained.code).toBe(2);
    expect(trained.stderr).toMatch(/agent\.endpoint: a server's weights can't be trained from here: name a model in agent\.model/);
  }, 120_000);

  test("a server that fails in the middle of an evaluation costs only the questions it failed at, which are told and asked again", async () => {
    let broken = true;
    const { url, chats } = await serveBoth(({ messages }) => broken && (messages[1]?.content.includes("peru") ?? false));
    const agent = { endpoint: { url, model: "agent", retries: 0 }, maxSearches: 2 };
    const file = write("halfway.yaml", { name: "halfway", system: "retrieval-only", agent, ranker: { topK: 2 } });
    const run = join(project.folder, "halfway");
    const kept = join(run, "evaluations", "test.unfinished.jsonl");
    const first = await cosearch(["evaluate", "--config", file, "--run", run, "--json"]);
    expect({ code: first.code, stdout: first.stdout }).toEqual({ code: 1, stdout: "" });
    expect(first.stderr).toMatch(/1 of 6 questions failed, 5 were finished; the first failure: question .*answered 500: out of memory/);
    expect(first.stderr).toContain(kept);
    const lines = readFileSync(kept, "utf8").trim().split("\n");
    expect(lines.filter((line) => line.includes('"record"'))).toHaveLength(5);
    expect(lines.filter((line) => line.includes('"error"'))).toHaveLength(1);

    broken = false;
    const before = chats.length;
    const second = await cosearch(["evaluate", "--config", file, "--run", run, "--json"]);
    expect(second.code).toBe(0);
    expect((JSON.parse(second.stdout) as Summary).systems.retrievalOnly).toMatchObject({ n: 6 });
    expect(chats.length - before).toBe(2);
    expect(
      readFileSync(join(run, "evaluations", "test.jsonl"), "utf8")
        .trim()
        .split("\n"),
    ).toHaveLength(6);
    expect(existsSync(kept)).toBe(false);
  }, 120_000);

  test("trains an agent beside a frozen ranker on a server; what the server fails at is recorded", async () => {
    let calls = 0;
    const { url, chats } = await serveBoth(() => ++calls % 7 === 0);
    const ranker = { endpoint: { url, model: "ranker", retries: 0 }, topK: 2, maxTokens: 16 };
    const file = write("frozen.yaml", { name: "frozen", system: "fixed-ranker", ranker });
    const run = join(project.folder, "frozen");
    const trained = await cosearch([
      "train",
      "--config",
      file,
      "--steps",
      "2",
      "--run",
      run,
      "--json",
      "--set",
      "training.evaluateEvery=0",
    ]);
    expect(trained).toMatchObject({ code: 0 });
    const steps = trained.stdout
      .split("\n")
      .flatMap((line) => (line.includes('"infraFailed"') ? [JSON.parse(line) as { infraFailed: number }] : []));
    expect(steps).toHaveLength(2);
    expect(steps.reduce((sum, { infraFailed }) => sum + infraFailed, 0)).toBe(Math.floor(chats.length / 7));
    expect(chats.length).toBeGreaterThan(6);
  }, 120_000);
});
