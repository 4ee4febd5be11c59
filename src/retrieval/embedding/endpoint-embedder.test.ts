import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { type EmbedderConfig, retrievalConfigSchema } from "../../config.ts";
import type { Embedder } from "./embedder.ts";
import { openEndpointEmbedder } from "./endpoint-embedder.ts";

interface EmbeddingsRequest {
  readonly model: string;
  readonly input: string[];
  readonly encoding_format: string;
  readonly authorization: string | undefined;
}
/** What the server does with a request: answers JSON, or takes the response over and returns nothing. */
type Answer = (request: EmbeddingsRequest, response: ServerResponse, incoming: IncomingMessage) => unknown;

const keyVariable = "COSEARCH_TEST_KEY";
const opened: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  delete process.env[keyVariable];
  for (const close of opened.splice(0)) await close();
});

/** A local server under /v1/embeddings; `requests` are those it got. */
async function serve(answer: Answer): Promise<{ readonly url: string; readonly requests: EmbeddingsRequest[] }> {
  const requests: EmbeddingsRequest[] = [];
  const server: Server = createServer(async (incoming, response) => {
    let body = "";
    for await (const chunk of incoming) body += String(chunk);
    if (incoming.url !== "/v1/embeddings") return response.writeHead(404).end("nothing here");
    const request = { ...(JSON.parse(body) as EmbeddingsRequest), authorization: incoming.headers.authorization };
    requests.push(request);
    const result = await answer(request, response, incoming);
    if (result !== undefined) response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(result));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  opened.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, requests };
}

async function open(url: string, changes: Partial<EmbedderConfig> = {}): Promise<Embedder> {
  const { embedder } = retrievalConfigSchema.parse({}).retrieval;
  const config: EmbedderConfig = { ...embedder, kind: "endpoint", url, model: "tiny", apiKeyVariable: keyVariable, retries: 2, ...changes };
  const result = await openEndpointEmbedder(config, { backoffMilliseconds: 1 });
  opened.push(async () => result.close?.());
  return result;
}

/** A text's vector: its length and 1, 0. */
const vectorOf = (text: string) => [text.length, 1, 0];
const base64 = (values: readonly number[]) => Buffer.from(Float32Array.from(values).buffer).toString("base64");
const honest: Answer = ({ input, encoding_format }) => ({
  data: input.map((text, index) => ({ index, embedding: encoding_format === "base64" ? base64(vectorOf(text)) : vectorOf(text) })),
});
const failing =
  (status: number, body: object, headers: Readonly<Record<string, string>> = {}): Answer =>
  (_, response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  };
/** One answer after the other; the last one stays. The probe gets the first. */
const inTurn = (...answers: readonly Answer[]): Answer => {
  let next = 0;
  return (...call) => answers[Math.min(next++, answers.length - 1)]?.(...call);
};

const raw = { normalize: false } as const;

describe("the endpoint embedder", () => {
  it("learns the dimensions, sends batches and gives vectors in the order of the texts, whatever the order of the answer", async () => {
    const { url, requests } = await serve((request, ...rest) => {
      const answer = honest(request, ...rest) as { data: unknown[] };
      return { data: answer.data.reverse() };
    });
    const embedder = await open(url, { ...raw, batchTexts: 3, concurrency: 2 });
    const texts = Array.from({ length: 10 }, (_, index) => "x".repeat(index + 1));
    expect((await embedder.embedQueries(texts)).map((vector) => [...vector])).toEqual(texts.map(vectorOf));
    expect(embedder.dimensions).toBe(3);
    expect(
      requests
        .slice(1)
        .map(({ input }) => input.length)
        .sort(),
    ).toEqual([1, 3, 3, 3]);
    expect(requests.every(({ model, authorization }) => model === "tiny" && authorization === undefined)).toBe(true);
    expect(embedder.identity).toEqual({
      kind: "endpoint",
      model: "tiny",
      dimensions: 3,
      queryPrefix: "",
      documentPrefix: "",
      normalize: false,
    });
  });

  it("reads lists of numbers from servers that know no base64, and asks for them where base64 is refused", async () => {
    const lists: Answer = ({ input }) => ({ data: input.map((text, index) => ({ index, embedding: vectorOf(text) })) });
    const plain = await open((await serve(lists)).url, raw);
    expect([...((await plain.embedQueries(["abc"]))[0] ?? [])]).toEqual([3, 1, 0]);
    const strict = await serve((request, ...rest) =>
      request.encoding_format === "base64"
        ? failing(422, { error: "encoding_format: unknown" })(request, ...rest)
        : lists(request, ...rest),
    );
    const embedder = await open(strict.url, raw);
    expect([...((await embedder.embedQueries(["abc"]))[0] ?? [])]).toEqual([3, 1, 0]);
    expect(strict.requests.map(({ encoding_format }) => encoding_format)).toEqual(["base64", "float", "float"]);
  });

  it("puts prefixes known of the model's name or configured, scales to unit length, and sends no blank text", async () => {
    const { url, requests } = await serve(honest);
    const e5 = await open(url, { model: "intfloat/e5-small" });
    const [vector, blank] = await e5.embedQueries(["who", " "]);
    expect(Math.hypot(...(vector ?? []))).toBeCloseTo(1, 6);
    expect(blank).toEqual(new Float32Array(3));
    await e5.embedDocuments(["passage: what"]);
    const own = await open(url, { model: "intfloat/e5-small", queryPrefix: "Q " });
    await own.embedQueries(["who"]);
    expect(requests.flatMap(({ input }) => input)).toEqual(["probe", "query: who", "passage: what", "probe", "Q who"]);
  });

  it("keeps to the number of requests at once", async () => {
    let now = 0;
    let most = 0;
    let release = () => {};
    const three = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { url } = await serve(async (request, ...rest) => {
      if (request.input[0] === "probe") return honest(request, ...rest);
      most = Math.max(most, ++now);
      if (now === 3) release();
      // None is answered before three wait; from then on each leaves time for a fourth.
      await three;
      await new Promise((resolve) => setTimeout(resolve, 10));
      now--;
      return honest(request, ...rest);
    });
    const embedder = await open(url, { batchTexts: 1, concurrency: 3 });
    await Promise.all([
      embedder.embedQueries(Array.from({ length: 8 }, String)),
      embedder.embedDocuments(Array.from({ length: 8 }, String)),
    ]);
    expect(most).toBe(3);
  });

  it("tries again after 429, 5xx and broken connections, and obeys Retry-After", async () => {
    const broken: Answer = (_, response) => void response.destroy();
    const { url, requests } = await serve(
      inTurn(
        honest,
        failing(429, { error: "slow down" }, { "retry-after": "0.05" }),
        broken,
        honest,
        failing(503, {}),
        failing(500, {}),
        honest,
      ),
    );
    const embedder = await open(url, raw);
    const start = performance.now();
    expect([...((await embedder.embedQueries(["ab"]))[0] ?? [])]).toEqual([2, 1, 0]);
    expect(performance.now() - start).toBeGreaterThan(45);
    expect([...((await embedder.embedQueries(["abc"]))[0] ?? [])]).toEqual([3, 1, 0]);
    expect(requests).toHaveLength(7);
  });

  it("fails for good as InfrastructureError with address, attempts and reason", async () => {
    const busy = await serve(inTurn(honest, failing(503, { error: { message: "loading" } })));
    const embedder = await open(busy.url);
    const fails = (message: RegExp) => expect.objectContaining({ name: "InfrastructureError", message: expect.stringMatching(message) });
    await expect(embedder.embedQueries(["a"])).rejects.toThrow(
      fails(/embedding server http:\/\/127\.0\.0\.1:\d+\/v1 failed after 3 attempts: answered 503: .*loading/),
    );
    const once = await serve(failing(400, { error: { message: "input too long" } }));
    await expect(open(once.url)).rejects.toThrow(fails(/after 1 attempt: answered 400: .*input too long/));
    const wrongPath = await serve(honest);
    await expect(open(wrongPath.url.replace("/v1", ""))).rejects.toThrow(fails(/answered 404: .*it usually ends with \/v1/));
    const gone = await serve(honest);
    await opened.pop()?.();
    await expect(open(gone.url)).rejects.toThrow(fails(/after 3 attempts: no connection \(.*ECONNREFUSED/));
  });

  it("ends the other requests of a call when one fails for good", async () => {
    const { url, requests } = await serve((request, ...rest) =>
      request.input[0] === "bad" ? failing(400, { error: "no" })(request, ...rest) : honest(request, ...rest),
    );
    const embedder = await open(url, { batchTexts: 1, concurrency: 1 });
    await expect(embedder.embedQueries(["bad", ...Array.from({ length: 20 }, String)])).rejects.toThrow(/answered 400/);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(requests.length).toBeLessThan(4);
    expect(await embedder.embedQueries(["fine"])).toHaveLength(1);
  });

  it("gives up on answers that don't end in time", async () => {
    const trickle: Answer = (_, response) => void response.writeHead(200, { "content-type": "application/json" }).write('{"data": [');
    const { url } = await serve((request, ...rest) => (request.input[0] === "probe" ? honest : trickle)(request, ...rest));
    const embedder = await open(url, { timeoutSeconds: 0.3, retries: 1 });
    await expect(embedder.embedQueries(["a"])).rejects.toThrow(/after 2 attempts: no answer within 0\.3 s/);
  });

  it.each<[string, unknown, RegExp]>([
    ["too few", { data: [{ index: 0, embedding: [1, 2, 3] }] }, /1 embeddings for 2 texts/],
    [
      "other dimensions",
      {
        data: [
          { index: 0, embedding: [1, 2, 3] },
          { index: 1, embedding: [1, 2] },
        ],
      },
      /data\[1\]\.embedding has 2 dimensions, expected 3/,
    ],
    [
      "a doubled index",
      {
        data: [
          { index: 0, embedding: [1, 2, 3] },
          { index: 0, embedding: [1, 2, 3] },
        ],
      },
      /data\[1\]\.index is 0, expected every number from 0 to 1 once/,
    ],
    [
      "no numbers",
      {
        data: [
          { index: 0, embedding: [1, null, 3] },
          { index: 1, embedding: [1, 2, 3] },
        ],
      },
      /data\[0\]\.embedding holds values that are no finite numbers/,
    ],
    [
      "base64 NaN",
      {
        data: [
          { index: 0, embedding: base64([1, Number.NaN, 3]) },
          { index: 1, embedding: base64([1, 2, 3]) },
        ],
      },
      /no finite numbers/,
    ],
    [
      "half a number",
      {
        data: [
          { index: 0, embedding: "AAAA" },
          { index: 1, embedding: "AAAA" },
        ],
      },
      /no base64 of 32-bit numbers: 3 bytes/,
    ],
    ["no vectors", { data: [{ index: 0 }, { index: 1 }] }, /expected a list of numbers or base64, got nothing/],
    ["something else", { hello: 1 }, /expected \{"data": \[\.\.\.\]\}, got \{"hello":1\}/],
  ])("refuses an answer with %s", async (_, answer, message) => {
    const { url, requests } = await serve(inTurn(honest, () => answer));
    const embedder = await open(url);
    await expect(embedder.embedQueries(["a", "b"])).rejects.toThrow(
      expect.objectContaining({ name: "InfrastructureError", message: expect.stringMatching(message) }),
    );
    expect(requests).toHaveLength(2);
  });

  it("refuses an answer that is no JSON", async () => {
    const { url } = await serve((_, response) => void response.writeHead(200, { "content-type": "application/json" }).end("<html>"));
    await expect(open(url)).rejects.toThrow(/malformed answer: not JSON/);
  });

  it("sends the key of the named variable and never shows it", async () => {
    process.env[keyVariable] = "sk-very-secret";
    const { url, requests } = await serve(honest);
    await (await open(url)).embedQueries(["a"]);
    expect(requests.map(({ authorization }) => authorization)).toEqual(["Bearer sk-very-secret", "Bearer sk-very-secret"]);
    const echo = await serve((request, ...rest) =>
      failing(401, { error: { message: `bad key ${request.authorization}` } })(request, ...rest),
    );
    const error = await open(echo.url).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      name: "InfrastructureError",
      message: expect.stringMatching(
        /answered 401: bad key Bearer \*\*\*: the key in the environment variable COSEARCH_TEST_KEY is not accepted/,
      ),
    });
    const { inspect } = await import("node:util");
    expect(inspect(error, { depth: 10 })).not.toContain("very-secret");
  });

  it("tells where to put a key that is missing, and refuses addresses and keys that can't be used", async () => {
    const { url } = await serve(failing(401, { error: { message: "who are you?" } }));
    await expect(open(url)).rejects.toThrow(
      /answered 401: who are you\?: put the server's key into the environment variable COSEARCH_TEST_KEY/,
    );
    for (const bad of ["localhost", "ftp://host/v1", "http://me:secret@host/v1", "http://host/v1?a=b"]) {
      await expect(open(bad)).rejects.toThrow(expect.objectContaining({ name: "ConfigError" }));
    }
    process.env[keyVariable] = "two\nlines";
    await expect(open(url)).rejects.toThrow(/holds characters that no HTTP header may have/);
  });

  it("may be aborted while it waits for the next attempt, and closed", async () => {
    const { url } = await serve(inTurn(honest, failing(503, {}, { "retry-after": "30" })));
    const embedder = await open(url);
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error("enough")), 30);
    await expect(embedder.embedQueries(["a"], controller.signal)).rejects.toThrow("enough");
    setTimeout(() => void embedder.close?.(), 30);
    await expect(embedder.embedQueries(["a"])).rejects.toThrow("the embedder was closed");
    await expect(embedder.embedQueries(["a"])).rejects.toThrow("the embedder was closed");
  });
});
