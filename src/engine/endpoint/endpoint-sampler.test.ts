import type { ServerResponse } from "node:http";
import { inspect } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import { closeServers, sendJson, startServer } from "../../../test/fixtures/http-server.ts";
import { tinyRenderer } from "../../../test/fixtures/training/tiny-world.ts";
import { configSchema, type EndpointConfig } from "../../config.ts";
import type { SampleRequest } from "../engine.ts";
import { EndpointSampler, type EndpointSamplerOptions } from "./endpoint-sampler.ts";
import { openEndpoint } from "./open-endpoint.ts";
import { PieceRenderer } from "./piece-renderer.ts";

type Body = Readonly<Record<string, unknown>>;
/** What the server does with a request: answers JSON, or takes the response over and returns nothing. */
type Answer = (body: Body, response: ServerResponse) => unknown;

const keyVariable = "COSEARCH_TEST_KEY";
const samplers: EndpointSampler[] = [];
afterEach(async () => {
  delete process.env[keyVariable];
  for (const sampler of samplers.splice(0)) await sampler.close();
  await closeServers();
});

interface Received {
  readonly path: string;
  readonly body: Body;
  readonly authorization: string | undefined;
}

/** A server of completions and chat; /v1/models lists `models`. */
async function serve(answer: Answer, models: unknown = [{ id: "tiny" }, { id: "large" }]) {
  const requests: Received[] = [];
  const address = await startServer(async ({ message, body }, response) => {
    if (message.url === "/v1/models") return sendJson(response, 200, { data: models });
    if (!/^\/v1\/(chat\/)?completions$/.test(message.url ?? "")) return void response.writeHead(404).end("nothing here");
    const request = JSON.parse(body) as Body;
    requests.push({ path: message.url as string, body: request, authorization: message.headers.authorization });
    const result = await answer(request, response);
    if (result !== undefined) sendJson(response, 200, result);
  });
  return { url: `${address}/v1`, requests };
}

function samplerOf(url: string, changes: Partial<EndpointSamplerOptions> = {}): EndpointSampler {
  const sampler = new EndpointSampler({
    url,
    model: "tiny",
    renderer: new PieceRenderer(),
    apiKeyVariable: keyVariable,
    retries: 2,
    backoffMilliseconds: 1,
    section: "agent.endpoint",
    ...changes,
  });
  samplers.push(sampler);
  return sampler;
}

const failing =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answer =>
  (_, response) =>
    sendJson(response, status, body, headers);
/** One answer after the other; the last one stays. */
const inTurn = (...answers: readonly Answer[]): Answer => {
  let next = 0;
  return (...call) => answers[Math.min(next++, answers.length - 1)]?.(...call);
};
const chat = (content: string | null, extra: Body = {}) => ({
  choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop", ...extra }],
});
const completion = (text: string, extra: Body = {}) => ({ choices: [{ index: 0, text, finish_reason: "stop", ...extra }] });
const fails = (name: string, message: RegExp) => expect.objectContaining({ name, message: expect.stringMatching(message) });

const stop = { strings: ["</search>", "</answer>"] };
const ask = (renderer: PieceRenderer, changes: Partial<SampleRequest> = {}): SampleRequest => ({
  promptTokenIds: renderer.renderConversation([
    { role: "system", content: ["Answer."] },
    { role: "user", content: ["Question: ", { data: "who?" }] },
  ]),
  maxTokens: 50,
  seed: 7,
  stop,
  ...changes,
});

describe("chat", () => {
  it("sends the exact messages and settings, and gives the text with the stop string that the server cut off", async () => {
    const { url, requests } = await serve(() => chat("<answer>Oslo"));
    const renderer = new PieceRenderer();
    const sampler = samplerOf(url, { renderer, extraBody: { top_k: 5 } });
    const first = ask(renderer, { temperature: 0.5, topP: 0.9 });
    const [output] = await sampler.sample(first);
    expect(output).toMatchObject({ text: "<answer>Oslo</answer>", finishReason: "stop", logprobs: [], policyVersion: 0 });
    expect(renderer.decode(output?.tokenIds ?? [])).toBe("<answer>Oslo</answer>");
    expect(requests[0]).toMatchObject({
      path: "/v1/chat/completions",
      authorization: undefined,
      body: { model: "tiny", max_tokens: 50, temperature: 0.5, top_p: 0.9, seed: expect.any(Number), stop: stop.strings, top_k: 5 },
    });
    const observation = renderer.renderContinuation([{ role: "tool", content: ["[1] ", { data: "a document" }] }], output?.tokenIds.at(-1));
    await sampler.sample({ ...first, promptTokenIds: [...first.promptTokenIds, ...(output?.tokenIds ?? []), ...observation] });
    expect(requests[1]?.body["messages"]).toEqual([
      { role: "system", content: "Answer." },
      { role: "user", content: "Question: who?" },
      { role: "assistant", content: "<answer>Oslo</answer>" },
      { role: "user", content: "[1] a document" },
    ]);
    await samplerOf(url, { renderer, toolRole: true }).sample({
      ...first,
      promptTokenIds: renderer.renderConversation([{ role: "tool", content: ["x"] }]),
    });
    expect(requests[2]?.body["messages"]).toEqual([{ role: "tool", content: "x", tool_call_id: "search" }]);
  });

  it("ends a turn at the first stop string, and with the end-of-turn token where the text ended by itself", async () => {
    const renderer = new PieceRenderer();
    const outputs = async (answer: unknown) => samplerOf((await serve(() => answer)).url, { renderer }).sample(ask(renderer));
    const [kept] = await outputs(chat("<answer>Oslo</answer> and more"));
    expect(kept).toMatchObject({ text: "<answer>Oslo</answer>", finishReason: "stop" });
    const [told] = await outputs(chat("a <search>b", { stop_reason: "</search>" }));
    expect(told?.text).toBe("a <search>b</search>");
    const [ended] = await outputs(chat("<answer>Oslo", { stop_reason: null }));
    expect(ended).toMatchObject({ text: "<answer>Oslo", finishReason: "stop" });
    expect(renderer.stopTokenIds).toContain(ended?.tokenIds.at(-1));
    const [cut] = await outputs(chat("<answer>Os", { finish_reason: "length" }));
    expect(cut).toMatchObject({ text: "<answer>Os", finishReason: "length" });
    const [thoughts] = await outputs({ choices: [{ message: { content: null, reasoning_content: "hm" }, finish_reason: "length" }] });
    expect(thoughts).toMatchObject({ text: "", tokenIds: [], finishReason: "length" });
  });

  it("makes a request of every sample, with seeds that depend on the request's seed and the sample's place alone", async () => {
    const { url, requests } = await serve(({ seed }) => chat(`said ${seed}`));
    const renderer = new PieceRenderer();
    const sampler = samplerOf(url, { renderer });
    const texts = (await sampler.sample(ask(renderer, { samples: 3 }))).map(({ text }) => text);
    expect(new Set(texts).size).toBe(3);
    expect((await sampler.sample(ask(renderer, { samples: 2 }))).map(({ text }) => text)).toEqual(texts.slice(0, 2));
    expect(requests.every(({ body }) => (body["seed"] as number) < 2 ** 31 && !("n" in body))).toBe(true);
  });

  it("goes without what the server refuses, from the first refusal on", async () => {
    const strict: Answer = (body, response) => {
      for (const name of ["include_stop_str_in_output", "no_stop_trim", "seed", "max_tokens"]) {
        const hint = name === "max_tokens" ? " Use 'max_completion_tokens' instead." : "";
        if (name in body) return sendJson(response, 400, { error: { message: `Unsupported parameter: '${name}'.${hint}` } });
      }
      return chat("fine");
    };
    const { url, requests } = await serve(strict);
    const renderer = new PieceRenderer();
    const notices: string[] = [];
    const sampler = samplerOf(url, { renderer, onNotice: (message) => notices.push(message) });
    expect((await sampler.sample(ask(renderer)))[0]?.text).toBe("fine");
    expect(requests).toHaveLength(5);
    await sampler.sample(ask(renderer));
    expect(requests).toHaveLength(6);
    expect(requests[5]?.body).toMatchObject({ max_completion_tokens: 50, temperature: 1, stop: stop.strings });
    expect(notices).toEqual([expect.stringMatching(/server http.*: the server takes no seed/)]);
  });
});

describe("completions", () => {
  const renderer = tinyRenderer();
  const promptTokenIds = renderer.renderConversation([{ role: "user", content: [{ data: "what is the capital of peru" }] }]);
  const closing = renderer.tokenId("</answer>") as number;
  const request: SampleRequest = {
    promptTokenIds,
    maxTokens: 20,
    seed: 1,
    stop: { tokenIds: [...renderer.stopTokenIds, closing], strings: ["!"] },
  };
  const written = renderer.encodeMarkup("<answer>lima</answer>");
  const text = renderer.decode(written);
  const plain = renderer.encodeMarkup("lima");
  const long = { finish_reason: "length" };
  const one = async (answer: unknown, changes: Partial<SampleRequest> = {}) =>
    (await samplerOf((await serve(() => answer)).url, { renderer }).sample({ ...request, ...changes }))[0];

  it("sends token ids, and takes tokens and log-probabilities as vLLM and SGLang give them", async () => {
    const logprobs = written.map((_, index) => -1 - index);
    const { url, requests } = await serve(() =>
      completion("<answer>lima</answer>", {
        token_ids: written,
        stop_reason: closing,
        logprobs: { tokens: written.map(String), token_logprobs: logprobs },
      }),
    );
    const [output] = await samplerOf(url, { renderer }).sample(request);
    expect(output).toEqual({ tokenIds: written, logprobs, text, finishReason: "stop", policyVersion: 0 });
    expect(requests[0]).toMatchObject({
      path: "/v1/completions",
      body: { prompt: promptTokenIds, logprobs: 1, return_token_ids: true, stop_token_ids: request.stop?.tokenIds, stop: ["!"] },
    });
  });

  it("reads token ids out of logprobs: of older vLLM and of llama.cpp", async () => {
    const old = { tokens: written.map((id) => `token_id:${id}`), token_logprobs: written.map(() => -1) };
    expect(await one(completion("<answer>lima</answer>", { logprobs: old }))).toMatchObject({
      tokenIds: written,
      logprobs: written.map(() => -1),
    });
    const entries = written.map((id) => ({ id, token: "?", logprob: -2 }));
    expect(await one(completion("lima", { logprobs: { content: entries } }))).toMatchObject({
      tokenIds: written,
      logprobs: written.map(() => -2),
    });
  });

  it("encodes the text and leaves log-probabilities out where ids are missing or numbers are no numbers", async () => {
    const words = { tokens: ["lima"], token_logprobs: [-1] };
    expect(await one(completion("lima", { ...long, logprobs: words }))).toMatchObject({ tokenIds: plain, logprobs: [], text: "lima" });
    const [eos] = renderer.stopTokenIds;
    expect(await one(completion("lima"))).toMatchObject({ tokenIds: [...plain, eos], logprobs: [], text: "lima", finishReason: "stop" });
    for (const told of [plain.map(() => null), [-1, ...plain.map(() => -1)], undefined]) {
      const output = await one(completion("lima", { ...long, token_ids: plain, logprobs: { token_logprobs: told } }));
      expect(output).toMatchObject({ tokenIds: plain, logprobs: [] });
    }
  });

  it("ends where the embedded engine would: at the stop token, or at the token that completes a stop string", async () => {
    const beyond = [...written, ...plain];
    const logprobs = { token_logprobs: beyond.map(() => -1) };
    expect(await one(completion("whatever", { token_ids: beyond, logprobs, finish_reason: "length" }))).toEqual({
      tokenIds: written,
      logprobs: written.map(() => -1),
      text,
      finishReason: "stop",
      policyVersion: 0,
    });
    const shout = renderer.encodeMarkup("lima! rome");
    const output = await one(completion("lima! rome", { token_ids: shout, finish_reason: "length" }));
    expect(output).toMatchObject({
      text: renderer.decode(renderer.encodeMarkup("lima!")),
      tokenIds: renderer.encodeMarkup("lima!"),
      finishReason: "stop",
    });
    // llama.cpp tells neither the tokens of the stop string nor the string.
    const cut = await one(completion("lima", { logprobs: { content: plain.map((id) => ({ id, logprob: -1 })) } }));
    expect(cut).toMatchObject({ text: `${renderer.decode(plain)}!`, logprobs: [], finishReason: "stop" });
    const eos = renderer.stopTokenIds[0] as number;
    const ended = await one(completion("lima", { token_ids: [...plain, eos] }));
    expect(ended).toMatchObject({ text: renderer.decode(plain), tokenIds: [...plain, eos], finishReason: "stop" });
    expect(await one(completion("li", { token_ids: plain.slice(0, 1), finish_reason: "length" }))).toMatchObject({
      finishReason: "length",
    });
  });

  it("notices the tokenizer of another model", async () => {
    await expect(one(completion("x", { token_ids: [99_999] }))).rejects.toThrow(
      fails("InfrastructureError", /token id 99999 is outside the tokenizer's vocabulary/),
    );
    await expect(one(completion("Oslo", { token_ids: plain }))).rejects.toThrow(
      /the server reads its tokens as "Oslo", the tokenizer as "lima"/,
    );
  });

  it("keeps to the context: locally where it is known, else as the server says", async () => {
    const { url, requests } = await serve(() => completion("lima", { finish_reason: "length" }));
    const sampler = samplerOf(url, { renderer, contextTokens: promptTokenIds.length + 3 });
    await sampler.sample(request);
    expect(requests[0]?.body["max_tokens"]).toBe(3);
    await expect(sampler.sample({ ...request, promptTokenIds: [...promptTokenIds, ...promptTokenIds] })).rejects.toThrow(
      fails("PromptTooLongError", /no room is left/),
    );
    const figures = "This model's maximum context length is 64 tokens and your request has 60 input tokens";
    const tight = await serve(({ max_tokens }, response) =>
      (max_tokens as number) > 4
        ? sendJson(response, 400, { error: { message: figures } })
        : completion("lima", { finish_reason: "length" }),
    );
    expect((await samplerOf(tight.url, { renderer }).sample(request))[0]).toMatchObject({ text: "lima", finishReason: "length" });
    const full = await serve(failing(400, { error: { message: "request (90 tokens) exceeds the available context size (64 tokens)" } }));
    await expect(samplerOf(full.url, { renderer }).sample(request)).rejects.toThrow(
      fails("PromptTooLongError", /exceeds the available context size/),
    );
  });

  it("says what to do where a server takes no token ids", async () => {
    const { url } = await serve(failing(400, { error: { message: "prompt: cannot unmarshal array into string" } }));
    await expect(samplerOf(url, { renderer }).sample(request)).rejects.toThrow(
      /answered 400: .*cannot unmarshal.*: if the server takes no token ids for a prompt, leave agent\.endpoint\.tokenizer out/,
    );
  });
});

describe("failures", () => {
  const renderer = new PieceRenderer();
  const sampled = async (answer: Answer, changes: Partial<EndpointSamplerOptions> = {}) => {
    const { url, requests } = await serve(answer);
    return { requests, outcome: samplerOf(url, { renderer, ...changes }).sample(ask(renderer)) };
  };

  it("are tried again where they may pass: 429 after as long as it asks for, 5xx, broken connections", async () => {
    const broken: Answer = (_, response) => void response.destroy();
    const soon = new Date(Date.now() - 1000).toUTCString();
    const start = performance.now();
    const { requests, outcome } = await sampled(
      inTurn(failing(429, {}, { "retry-after": "0.05" }), failing(503, {}, { "retry-after": soon }), broken, () => chat("at last")),
      { retries: 3 },
    );
    expect((await outcome)[0]?.text).toBe("at last");
    expect(performance.now() - start).toBeGreaterThan(45);
    expect(requests).toHaveLength(4);
  });

  it.each<[string, Answer, RegExp]>([
    [
      "401",
      failing(401, { error: { message: "who are you?" } }),
      /after 1 attempt: answered 401: who are you\?: put the server's key into the environment variable COSEARCH_TEST_KEY, or name another in agent\.endpoint\.apiKeyVariable/,
    ],
    ["403", failing(403, {}), /after 1 attempt: answered 403/],
    [
      "404",
      failing(404, { error: { message: "The model `tiny` does not exist." } }),
      /answered 404: The model `tiny` does not exist\.: check agent\.endpoint\.url.*; the server offers: tiny, large/,
    ],
    [
      "429",
      failing(429, { error: { message: "slow down" } }),
      /inference server http:\/\/127\.0\.0\.1:\d+\/v1 failed after 3 attempts: answered 429: slow down/,
    ],
    ["500", failing(500, { error: { message: "out of memory" } }), /after 3 attempts: answered 500: out of memory/],
    [
      "HTML",
      (_, response) => void response.writeHead(200, { "content-type": "text/html" }).end("<html>busy</html>"),
      /after 1 attempt: malformed answer: expected \{"choices": \[\.\.\.\]\}, got "<html>/,
    ],
    [
      "broken JSON",
      (_, response) => void response.writeHead(200, { "content-type": "application/json" }).end('{"choices": ['),
      /malformed answer: not JSON/,
    ],
    ["another shape", () => ({ result: "hi" }), /malformed answer: expected \{"choices": \[\.\.\.\]\}, got \{"result":"hi"\}/],
    ["no choice", () => ({ choices: [] }), /0 choices where one was asked for/],
    ["two choices", () => ({ choices: [...chat("a").choices, ...chat("b").choices] }), /2 choices where one was asked for/],
    [
      "a choice without a message",
      () => ({ choices: [{ text: "x", finish_reason: "stop" }] }),
      /choices\[0\]\.message: expected an object, got nothing/,
    ],
    [
      "content that is no text",
      () => ({ choices: [{ message: { content: 5 }, finish_reason: "stop" }] }),
      /choices\[0\]\.message\.content: expected a text, got 5/,
    ],
    ["no reason for the end", () => chat("x", { finish_reason: null }), /finish_reason: expected stop or length, got null/],
    ["a filter", () => chat("x", { finish_reason: "content_filter" }), /withheld by a content filter/],
    [
      "a parsed tool call",
      () => ({ choices: [{ message: { content: null, tool_calls: [{}] }, finish_reason: "tool_calls" }] }),
      /without a tool-call parser/,
    ],
  ])("name address, attempts and reason: %s", async (_, answer, message) => {
    const { outcome } = await sampled(answer);
    await expect(outcome).rejects.toThrow(fails("InfrastructureError", message));
  });

  it("are told of servers that are gone, or too slow from the first byte to the last", async () => {
    const { url } = await serve(() => chat("x"));
    await closeServers();
    await expect(samplerOf(url, { renderer }).sample(ask(renderer))).rejects.toThrow(
      fails("InfrastructureError", /after 3 attempts: no connection \(.*ECONNREFUSED/),
    );
    const trickle: Answer = (_, response) => void response.writeHead(200, { "content-type": "application/json" }).write('{"choices": [');
    const { outcome } = await sampled(trickle, { timeoutSeconds: 0.05, retries: 1 });
    await expect(outcome).rejects.toThrow(/after 2 attempts: no answer within 0\.05 s/);
  });

  it("show the key to the server alone", async () => {
    process.env[keyVariable] = "sk-very-secret";
    const { url, requests } = await serve((_, response) =>
      sendJson(response, 401, { error: { message: "bad key Bearer sk-very-secret" } }),
    );
    const error = await samplerOf(url, { renderer })
      .sample(ask(renderer))
      .catch((reason: unknown) => reason);
    expect(requests[0]?.authorization).toBe("Bearer sk-very-secret");
    expect(error).toMatchObject({
      message: expect.stringMatching(/bad key Bearer \*\*\*: the key in the environment variable COSEARCH_TEST_KEY is not accepted/),
    });
    expect(inspect(error, { depth: 10 })).not.toContain("very-secret");
  });

  it("don't hide what is wrong with a request or an address", async () => {
    const sampler = samplerOf("http://127.0.0.1:9/v1", { renderer });
    const request = ask(renderer);
    await expect(sampler.sample({ ...request, maxTokens: 0 })).rejects.toThrow(fails("ModelError", /maxTokens is 0/));
    await expect(sampler.sample({ ...request, promptTokenIds: [] })).rejects.toThrow(/the prompt is empty/);
    await expect(sampler.sample({ ...request, promptTokenIds: renderer.encodeData("x") })).rejects.toThrow(
      fails("ModelError", /continues conversations only/),
    );
    const grammar = { id: "g", start: 0, states: [], reservedTokenIds: [] };
    await expect(sampler.sample({ ...request, grammar })).rejects.toThrow(
      fails("ConfigError", /agent\.endpoint: a server applies no token grammar/),
    );
    for (const bad of ["localhost", "ftp://host/v1", "http://me:secret@host/v1", "http://host/v1?a=b"]) {
      expect(() => samplerOf(bad)).toThrow(fails("ConfigError", /^agent\.endpoint\.url: /));
    }
  });

  it("leave aborted and closed requests, and those that wait for their turn", async () => {
    const { url } = await serve(failing(503, {}, { "retry-after": "30" }));
    const sampler = samplerOf(url, { renderer, concurrency: 1 });
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error("enough")), 30);
    await expect(sampler.sample(ask(renderer, { signal: controller.signal, samples: 3 }))).rejects.toThrow("enough");
    setTimeout(() => void sampler.close(), 30);
    await expect(sampler.sample(ask(renderer))).rejects.toThrow(/inference server .* was closed/);
    await expect(sampler.sample(ask(renderer))).rejects.toThrow(/was closed/);
  });

  it("keep to the number of requests at once", async () => {
    let now = 0;
    let most = 0;
    const { url } = await serve(async () => {
      most = Math.max(most, ++now);
      await new Promise((resolve) => setTimeout(resolve, 10));
      now--;
      return chat("x");
    });
    const sampler = samplerOf(url, { renderer, concurrency: 3 });
    await Promise.all(Array.from({ length: 12 }, () => sampler.sample(ask(renderer))));
    expect(most).toBe(3);
  });
});

describe("opening", () => {
  const config = (url: string, changes: Partial<EndpointConfig> = {}): EndpointConfig => {
    const { agent } = configSchema.parse({
      system: "retrieval-only",
      data: { train: "a", test: "b" },
      retrieval: { corpus: "c" },
      agent: { endpoint: { url } },
    });
    return { ...(agent.endpoint as EndpointConfig), apiKeyVariable: keyVariable, retries: 1, ...changes };
  };
  const open = (url: string, changes: Partial<EndpointConfig> = {}) =>
    openEndpoint(config(url, changes), { section: "agent.endpoint", backoffMilliseconds: 1 });

  it("asks once what there is: the only model, and its context", async () => {
    const { url, requests } = await serve(() => chat("x"), [{ id: "only", max_model_len: 4096 }]);
    const opened = await open(url);
    expect(opened).toMatchObject({ contextTokens: 4096, description: `${url}, model only (chat, 4096 tokens); the server offers: only` });
    const { renderer, engine } = opened;
    await engine.sample({ promptTokenIds: renderer.renderConversation([{ role: "user", content: ["hi"] }]), maxTokens: 5, seed: 1 });
    expect(requests[0]?.body["model"]).toBe("only");
    expect(await engine.publish()).toBe(0);
    await expect(engine.forwardBackward([], { kind: "cross-entropy" })).rejects.toThrow(
      fails("ConfigError", /agent\.endpoint: a server's weights can't be trained/),
    );
    await expect(engine.saveState("x")).rejects.toThrow(/can't be trained/);
    await engine.close();
    expect((await open((await serve(() => chat("x"), [{ id: "m", meta: { n_ctx: 2048 } }])).url)).contextTokens).toBe(2048);
  });

  it("wants a name where there are several, does without a list, and fails where no server is", async () => {
    const { url } = await serve(() => chat("x"));
    await expect(open(url)).rejects.toThrow(fails("ConfigError", /agent\.endpoint\.model: name a model; the server offers: tiny, large/));
    expect((await open(url, { model: "large" })).description).toMatch(/model large \(chat\); the server offers: tiny, large/);
    const address = await startServer((_, response) => void response.writeHead(404).end());
    expect((await open(`${address}/v1`, { model: "m" })).description).toMatch(/the server doesn't tell what it offers/);
    await expect(open(`${address}/v1`)).rejects.toThrow(/agent\.endpoint\.model: name a model; the server doesn't tell/);
    const locked = await startServer((_, response) => sendJson(response, 401, {}));
    await expect(open(`${locked}/v1`, { model: "m" })).rejects.toThrow(fails("InfrastructureError", /answered 401/));
    await closeServers();
    await expect(open(url, { model: "m" })).rejects.toThrow(/no connection/);
  });
});
