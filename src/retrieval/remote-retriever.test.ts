import type { ServerResponse } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { closeServers, sendJson, startServer } from "../../test/fixtures/http-server.ts";
import { ConfigError, InfrastructureError } from "../errors.ts";
import { batchedRetriever } from "./batched-retriever.ts";
import { type RemoteRetriever, type RemoteRetrieverOptions, remoteRetriever } from "./remote-retriever.ts";

const clients: RemoteRetriever[] = [];
function client(url: string, options: Partial<RemoteRetrieverOptions> = {}): RemoteRetriever {
  const made = remoteRetriever({ url, backoffMilliseconds: 1, retries: 2, ...options });
  clients.push(made);
  return made;
}

afterEach(async () => {
  await Promise.all(clients.splice(0).map((made) => made.close()));
  await closeServers();
  delete process.env.COSEARCH_TEST_TOKEN;
});

interface Asked {
  readonly queries: readonly string[];
  readonly topk: number;
  readonly return_scores: boolean;
}

/** A server that finds one passage, the query itself; `before` may answer in its place. */
async function server(before: (asked: Asked, response: ServerResponse, count: number) => boolean | Promise<boolean> = () => false) {
  const asked: Asked[] = [];
  const headers: (string | undefined)[] = [];
  const url = await startServer(async ({ message, body }, response) => {
    const request = JSON.parse(body) as Asked;
    asked.push(request);
    headers.push(message.headers.authorization);
    if (await before(request, response, asked.length)) return;
    const found = (query: string) => [{ document: { id: query, contents: `"${query}"\ntext` }, score: 1 }];
    sendJson(response, 200, { result: request.queries.map(found) });
  });
  return { url, asked, headers };
}

const refuse = (response: ServerResponse, status: number, value: unknown, headers = {}) => {
  sendJson(response, status, value, headers);
  return true;
};
const ids = (lists: readonly (readonly { readonly document: { readonly id: string } }[])[]) =>
  lists.map((list) => list.map(({ document }) => document.id));
const reasonOf = (outcome: PromiseSettledResult<unknown> | undefined) =>
  outcome?.status === "rejected" ? (outcome.reason as Error).message : undefined;

describe("remoteRetriever", () => {
  it("ends an answer that never ends before it fills the memory", async () => {
    const chunk = Buffer.alloc(8 * 1024 * 1024, " ");
    const { url } = await server((_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      const more = () => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on("drain", more);
      more();
      return true;
    });
    await expect(client(url).search(["a"], 1)).rejects.toThrow(/failed after 1 attempt: malformed answer: of more than 256 MiB/);
  });

  it("asks for distinct, unknown queries in requests of at most batchQueries, with scores", async () => {
    const { url, asked, headers } = await server();
    const retriever = client(`${url}/`, { batchQueries: 2 });
    expect(ids(await retriever.search(["a", "b", "a", "c"], 3))).toEqual([["a"], ["b"], ["a"], ["c"]]);
    expect(await retriever.search(["b", "a"], 3)).toHaveLength(2);
    expect(asked).toEqual([
      { queries: ["a", "b"], topk: 3, return_scores: true },
      { queries: ["c"], topk: 3, return_scores: true },
    ]);
    expect(headers).toEqual([undefined, undefined]);
    expect(await retriever.search([], 3)).toEqual([]);
    await retriever.search(["a"], 4);
    expect(asked).toHaveLength(3);
  });

  it.each([429, 500, 502, 503, 504])("tries again after %d", async (status) => {
    const { url, asked } = await server((_, response, count) => count < 3 && refuse(response, status, { error: "not now" }));
    expect(ids(await client(url).search(["a"], 1))).toEqual([["a"]]);
    expect(asked).toHaveLength(3);
  });

  it("tries again when the connection breaks or no answer comes in time", async () => {
    const { url, asked } = await server((_, response, count) => {
      if (count === 1) response.destroy();
      return count <= 2;
    });
    expect(ids(await client(url, { timeoutSeconds: 0.2, retries: 20 }).search(["a"], 1))).toEqual([["a"]]);
    // On a busy machine a good answer may come too late as well.
    expect(asked.length).toBeGreaterThanOrEqual(3);
  });

  it("waits as long as the server asks", async () => {
    const { url } = await server((_, response, count) => count === 1 && refuse(response, 503, {}, { "retry-after": "1" }));
    const start = performance.now();
    await client(url).search(["a"], 1);
    expect(performance.now() - start).toBeGreaterThan(950);
  });

  it("fails for good with address, attempts and last reason", async () => {
    const { url, asked } = await server((_, response) => refuse(response, 503, { error: "overloaded: 9 requests wait" }));
    const failure = client(url).search(["a", "b"], 1);
    await expect(failure).rejects.toThrow(InfrastructureError);
    await expect(failure).rejects.toThrow(
      `retrieval server ${url}/retrieve failed after 3 attempts: answered 503: overloaded: 9 requests wait`,
    );
    expect(asked).toHaveLength(3);
  });

  it("names a refused connection", async () => {
    const { url } = await server();
    await closeServers();
    await expect(client(url, { retries: 1 }).search(["a"], 1)).rejects.toThrow(/failed after 2 attempts: no connection \(.*ECONNREFUSED/);
  });

  it.each([
    [400, { error: "queries[0] has 9000 characters" }, /after 1 attempt: answered 400: queries\[0\] has 9000 characters$/],
    [422, { detail: [{ loc: ["body"] }] }, /answered 422: \[\{"loc":\["body"\]\}\]$/],
    [401, { error: "no token" }, /answered 401: no token: give the server's token \(retrieval\.remote\.tokenVariable/],
    [404, "nothing", /answered 404: "nothing": retrieval\.remote\.url is no retrieval server/],
  ])("does not repeat a request that was answered %d", async (status, body, message) => {
    const { url, asked } = await server((_, response) => refuse(response, status, body));
    await expect(client(url).search(["a"], 1)).rejects.toThrow(message);
    expect(asked).toHaveLength(1);
  });

  it.each([
    ["<html>busy</html>", /malformed answer: not JSON, begins with "<html>busy<\/html>"/],
    ['{"result": [[{"id": 1}]]}', /malformed answer: result\[0\]\[0\]: expected contents or text/],
    ['{"result": []}', /malformed answer: 0 result lists for 1 queries/],
  ])("names the malformed answer %s", async (body, message) => {
    const url = await startServer((_, response) => void response.end(body));
    await expect(client(url).search(["a"], 1)).rejects.toThrow(message);
  });

  it("does not follow redirects", async () => {
    const url = await startServer((_, response) => void response.writeHead(307, { location: "http://127.0.0.1:9/other" }).end());
    await expect(client(url).search(["a"], 1)).rejects.toThrow(/answered 307: redirects to http:\/\/127\.0\.0\.1:9\/other: name the final/);
  });

  it.each([400, 500])("finds the query at fault when several are answered %d, and answers the others", async (status) => {
    const { url } = await server(({ queries }, response) => queries.includes("bad") && refuse(response, status, { error: "bad one" }));
    const outcomes = await client(url).searchEach(["a", "b", "bad", "c", "d", "a"], 1);
    expect(outcomes.map((outcome) => outcome.status)).toEqual([
      "fulfilled",
      "fulfilled",
      "rejected",
      "fulfilled",
      "fulfilled",
      "fulfilled",
    ]);
    expect(reasonOf(outcomes[2])).toMatch(
      status === 400 ? /after 1 attempt: answered 400: bad one/ : /after 3 attempts: answered 500: bad one/,
    );

    const batched = batchedRetriever(client(url));
    const together = await Promise.allSettled(["a", "bad", "c"].map((query) => batched.search([query], 1)));
    expect(together.map((outcome) => outcome.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  });

  it("does not remember failures", async () => {
    const { url } = await server((_, response, count) => count === 1 && refuse(response, 503, {}));
    const retriever = client(url, { retries: 0 });
    await expect(retriever.search(["a"], 1)).rejects.toThrow(InfrastructureError);
    expect(ids(await retriever.search(["a"], 1))).toEqual([["a"]]);
  });

  it("keeps at most `concurrency` requests under way", async () => {
    let current = 0;
    let most = 0;
    let release: () => void = () => undefined;
    const three = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { url, asked } = await server(async () => {
      most = Math.max(most, ++current);
      if (current === 3) release();
      await three;
      await new Promise((resolve) => setTimeout(resolve, 5));
      current--;
      return false;
    });
    await client(url, { concurrency: 3, batchQueries: 1 }).search(
      Array.from({ length: 12 }, (_, index) => `q${index}`),
      1,
    );
    expect(asked).toHaveLength(12);
    expect(most).toBe(3);
  });

  it("sends the token of the environment and never shows it", async () => {
    process.env.COSEARCH_TEST_TOKEN = "open-sesame";
    const { url, headers } = await server((_, response, count) => count > 1 && refuse(response, 403, { error: "open-sesame is wrong" }));
    const retriever = client(url, { tokenVariable: "COSEARCH_TEST_TOKEN", retries: 0 });
    await retriever.search(["a"], 1);
    expect(headers).toEqual(["Bearer open-sesame"]);
    const error = await retriever.search(["b"], 1).catch((reason: Error) => reason);
    expect((error as Error).message).toMatch(/answered 403: \*\*\* is wrong/);
    expect(JSON.stringify(retriever)).not.toContain("sesame");
  });

  it("ends what is under way when it is closed", async () => {
    const { url } = await server(() => true);
    const retriever = client(url);
    const failure = expect(retriever.search(["a"], 1)).rejects.toThrow(/the client was closed/);
    await new Promise((resolve) => setTimeout(resolve, 30));
    await retriever.close();
    await failure;
    await expect(retriever.search(["b"], 1)).rejects.toThrow(/the client was closed/);
  });

  it("does not wait for another attempt when it is closed", async () => {
    const { url } = await server((_, response) => refuse(response, 503, {}, { "retry-after": "60" }));
    const retriever = client(url, { backoffMilliseconds: 60_000 });
    const failure = expect(retriever.search(["a"], 1)).rejects.toThrow(InfrastructureError);
    await new Promise((resolve) => setTimeout(resolve, 30));
    await retriever.close();
    await failure;
  });

  it.each([
    [{ url: "localhost:8000" }, /retrieval\.remote\.url: expected http:\/\/ or https:/],
    [{ url: "nowhere" }, /expected an address, e\.g\. http:\/\/127\.0\.0\.1:8000, got "nowhere"/],
    [{ url: "http://me:hush@host/" }, /leave user and password out/],
    [{ url: "http://host/", tokenVariable: "COSEARCH_TEST_TOKEN" }, /environment variable COSEARCH_TEST_TOKEN is not set/],
  ])("refuses %j", (options, message) => {
    expect(() => remoteRetriever(options)).toThrow(ConfigError);
    expect(() => remoteRetriever(options)).toThrow(message);
    expect(() => remoteRetriever(options)).not.toThrow(/hush/);
  });
});
