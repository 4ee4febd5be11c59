import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ConfigError, InfrastructureError } from "../errors.ts";
import { remoteRetriever } from "../retrieval/remote-retriever.ts";
import { bm25Retriever, type Retriever } from "../retrieval/retriever.ts";
import type { Document } from "../types.ts";
import { listen } from "./listen.ts";
import { createRetrievalServer, type RetrievalServer, type RetrievalServerOptions } from "./retrieval-server.ts";

const documents: readonly Document[] = [
  { id: "1", title: "Oslo", text: "Oslo is the capital of Norway." },
  { id: "2", title: "", text: "Rome is the capital of Italy." },
  { id: "3", title: "Fjord", text: "A fjord is a long inlet.\nNorway has many." },
];
const bm25 = bm25Retriever({ documents });

const servers: RetrievalServer[] = [];
async function serve(retriever: Retriever = bm25, options: RetrievalServerOptions = {}): Promise<{ url: string; server: RetrievalServer }> {
  const server = createRetrievalServer(retriever, options);
  servers.push(server);
  return { url: (await server.listen({ port: 0 })).url, server };
}
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close(0.1)));
});

const json = { "content-type": "application/json" };
function post(url: string, body: unknown, headers: Readonly<Record<string, string>> = json): Promise<Response> {
  return fetch(`${url}/retrieve`, { method: "POST", headers, body: typeof body === "string" ? body : JSON.stringify(body) });
}
async function outcome(response: Response): Promise<[status: number, error: string]> {
  return [response.status, ((await response.json()) as { error: string }).error];
}
const metricsOf = async (url: string) => (await fetch(`${url}/metrics`)).text();

/** A retriever whose searches end when `release` is called; `asked` resolves when the first begins. */
function held() {
  let release: () => void = () => undefined;
  let begin: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const asked = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const search: Retriever["search"] = async (queries, topK) => {
    begin();
    await released;
    return bm25.search(queries, topK);
  };
  return { retriever: { name: "held", search } satisfies Retriever, asked, release };
}

describe("POST /retrieve", () => {
  it("answers with documents and scores, or documents alone", async () => {
    const { url } = await serve();
    const scored = await post(url, { queries: ["capital of norway", "capital of italy"], topk: 1, return_scores: true });
    expect(scored.headers.get("content-type")).toMatch(/^application\/json/);
    expect(await scored.json()).toEqual({
      result: [
        [{ document: { id: "1", contents: '"Oslo"\nOslo is the capital of Norway.' }, score: expect.any(Number) }],
        [{ document: { id: "2", contents: '""\nRome is the capital of Italy.' }, score: expect.any(Number) }],
      ],
    });
    const bare = await post(url, { queries: ["capital of norway"], topk: 1 });
    expect(await bare.json()).toEqual({ result: [[{ id: "1", contents: '"Oslo"\nOslo is the capital of Norway.' }]] });
  });

  it("takes its own number of passages where the request names none", async () => {
    const { url } = await serve(bm25, { defaultTopK: 2 });
    for (const request of [{ queries: ["norway capital"] }, { queries: ["norway capital"], topk: null, retriever: "any" }]) {
      const { result } = (await (await post(url, request)).json()) as { result: unknown[][] };
      expect(result.map((list) => list.length)).toEqual([2]);
    }
    expect(await (await post(url, { queries: [], topk: 3, return_scores: true })).json()).toEqual({ result: [] });
  });

  it.each([
    ["{queries", /^the body is not JSON: /],
    ["[1]", /^expected an object, e\.g\. \{"queries": /],
    ["null", /^expected an object/],
    [{}, /^queries: expected a list of strings, got nothing/],
    [{ queries: "norway" }, /^queries: expected a list of strings, got "norway"/],
    [{ queries: ["a", 5] }, /^queries\[1\]: expected a string, got 5/],
    [{ queries: ["a", "b", "c", "d"] }, /^queries: 4 are too many: send at most 3 at once/],
    [{ queries: ["x".repeat(21)] }, /^queries\[0\]: 21 characters are too many: send at most 20/],
    [{ queries: ["a"], topk: 0 }, /^topk: expected a whole number from 1 to 10, or null for 10, got 0/],
    [{ queries: ["a"], topk: 11 }, /^topk: .*got 11/],
    [{ queries: ["a"], topk: 1.5 }, /^topk: .*got 1\.5/],
    [{ queries: ["a"], topk: "3" }, /^topk: .*got "3"/],
    [{ queries: ["a", "b", "c"], topk: 9 }, /^queries times topk: 27 passages are too many for one answer: ask for at most 25/],
    [{ queries: ["a"], return_scores: "yes" }, /^return_scores: expected true or false, got "yes"/],
  ])("answers 400 to %j", async (body, message) => {
    const { url } = await serve(bm25, { maxQueries: 3, maxQueryCharacters: 20, maxTopK: 10, maxPassages: 25 });
    const [status, error] = await outcome(await post(url, body));
    expect(status).toBe(400);
    expect(error).toMatch(message);
  });

  it("answers 400 to a body that is not UTF-8, and to nesting without end", async () => {
    const { url } = await serve();
    const bytes = new Uint8Array([0x7b, 0xff, 0x7d]);
    const response = await fetch(`${url}/retrieve`, { method: "POST", headers: json, body: bytes });
    expect(await outcome(response)).toEqual([400, "the body is not JSON: it is not UTF-8 text"]);
    const nested = `{"queries": ${"[".repeat(200_000)}${"]".repeat(200_000)}}`;
    expect((await post(url, nested)).status).toBe(400);
  });

  it("answers 413, 415, 405 and 404", async () => {
    const { url } = await serve(bm25, { maxBodyBytes: 1024 });
    const large = { queries: ["x".repeat(2000)] };
    expect(await outcome(await post(url, large))).toEqual([413, expect.stringMatching(/more than 1024 bytes/)]);
    const chunks = new ReadableStream({
      pull(controller) {
        controller.enqueue(new Uint8Array(600).fill(32));
      },
    });
    const streamed = await fetch(`${url}/retrieve`, { method: "POST", headers: json, body: chunks, duplex: "half" } as RequestInit).catch(
      () => undefined,
    );
    expect(streamed === undefined || streamed.status === 413).toBe(true);
    expect(await outcome(await post(url, "{}", { "content-type": "text/plain" }))).toEqual([415, expect.stringMatching(/got text\/plain/)]);
    expect((await post(url, "{}", { ...json, "content-encoding": "gzip" })).status).toBe(415);
    const got = await fetch(`${url}/retrieve`);
    expect([got.status, got.headers.get("allow")]).toEqual([405, "POST"]);
    expect((await fetch(`${url}/health`, { method: "POST" })).status).toBe(405);
    expect(await outcome(await fetch(`${url}/search`))).toEqual([404, expect.stringContaining("/retrieve")]);
    expect((await post(url, { queries: ["norway"] })).status).toBe(200);
  });

  it("asks for the token where there is one", async () => {
    const { url } = await serve(bm25, { token: "open-sesame" });
    const status = async (authorization?: string) =>
      (await post(url, { queries: [] }, authorization === undefined ? json : { ...json, authorization })).status;
    expect(await Promise.all([status(), status("Bearer open"), status("open-sesame"), status("Basic open-sesame")])).toEqual([
      401, 401, 401, 401,
    ]);
    expect(await status("Bearer open-sesame")).toBe(200);
    expect((await fetch(`${url}/metrics`)).status).toBe(401);
    expect((await fetch(`${url}/health`)).status).toBe(200);
  });

  it("answers 502 when a service fails for good and 500 to other failures, and counts both", async () => {
    const failures: unknown[] = [];
    const failing: Retriever = {
      name: "failing",
      search: async ([query]) => {
        throw query === "down" ? new InfrastructureError("the embedder is down") : new TypeError("broken");
      },
    };
    const { url } = await serve(failing, { onFailure: (error) => failures.push(error) });
    expect(await outcome(await post(url, { queries: ["down"] }))).toEqual([502, "retrieval failed: the embedder is down"]);
    expect(await outcome(await post(url, { queries: ["other"] }))).toEqual([500, "retrieval failed: broken"]);
    expect(failures).toHaveLength(2);
    expect(await metricsOf(url)).toContain("cosearch_retrieval_failures_total 2");
  });

  it("refuses what is too much with 503 and Retry-After", async () => {
    const { retriever, asked, release } = held();
    const { url } = await serve(retriever, { maxWaiting: 1 });
    const first = post(url, { queries: ["norway"] });
    await asked;
    const second = await post(url, { queries: ["italy"] });
    expect([second.status, second.headers.get("retry-after")]).toEqual([503, "1"]);
    release();
    expect((await first).status).toBe(200);
    expect((await post(url, { queries: ["italy"] })).status).toBe(200);
  });
});

describe("the server", () => {
  it("tells its health and figures", async () => {
    const { url } = await serve(bm25, { documents: 3 });
    await Promise.all(["norway", "italy", "fjord"].map((query) => post(url, { queries: [query] })));
    await post(url, "{");
    expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: "ready", documents: 3, retriever: "bm25" });
    const text = await metricsOf(url);
    expect(text).toContain('cosearch_http_requests_total{route="/retrieve",code="200"} 3');
    expect(text).toContain('cosearch_http_requests_total{route="/retrieve",code="400"} 1');
    expect(text).toContain('cosearch_http_request_seconds_count{route="/retrieve"} 4');
    expect(text).toContain("cosearch_batch_queries_sum 3");
    expect(text).toContain("cosearch_requests_waiting 0");
    expect(text).toMatch(/process_resident_memory_bytes \d+/);
  });

  it("serves our client", async () => {
    const { url } = await serve();
    const client = remoteRetriever({ url });
    const queries = ["capital of norway", "long inlet", "norway"];
    expect(await client.search(queries, 2)).toEqual(await bm25.search(queries, 2));
    await client.close();
  });

  it("frees the place of a client that goes away", async () => {
    const { retriever, asked, release } = held();
    const { url } = await serve(retriever, { maxWaiting: 1 });
    const controller = new AbortController();
    const gone = fetch(`${url}/retrieve`, { method: "POST", headers: json, body: '{"queries": ["norway"]}', signal: controller.signal });
    await asked;
    controller.abort();
    await expect(gone).rejects.toThrow();
    await vi.waitFor(async () => expect(await metricsOf(url)).toContain("cosearch_requests_waiting 0"), { timeout: 30_000 });
    const next = post(url, { queries: ["italy"] });
    release();
    expect((await next).status).toBe(200);
    expect(await metricsOf(url)).toContain('cosearch_http_requests_total{route="/retrieve",code="499"} 1');
  });

  it("ends a request that never comes to its end", async () => {
    const { url } = await serve(bm25, { requestSeconds: 0.2 });
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.write('POST /retrieve HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"quer');
    const text = await new Promise<string>((resolve) => {
      let received = "";
      socket.on("data", (chunk) => {
        received += chunk.toString();
      });
      socket.on("close", () => resolve(received));
    });
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
    expect((await post(url, { queries: ["norway"] })).status).toBe(200);
  });

  it("finishes what is under way when it stops, and accepts nothing new", async () => {
    const { retriever, asked, release } = held();
    const { url, server } = await serve(retriever);
    const underWay = post(url, { queries: ["norway"] });
    await asked;
    const stopped = server.close();
    await expect(post(url, { queries: ["italy"] })).rejects.toThrow();
    expect((await server.fetch(new Request("http://x/retrieve", { method: "POST", headers: json, body: "{}" }))).status).toBe(503);
    expect((await server.fetch(new Request("http://x/health"))).status).toBe(503);
    release();
    const answer = await underWay;
    expect([answer.status, answer.headers.get("connection")]).toEqual([200, "close"]);
    await stopped;
  });

  it("stops in time even when a search does not end", async () => {
    const { retriever, asked } = held();
    const { url, server } = await serve(retriever);
    const underWay = expect(post(url, { queries: ["norway"] })).rejects.toThrow();
    await asked;
    await server.close(0.05);
    await underWay;
  });

  it("goes on when a connection can't be accepted", async () => {
    const told: Error[] = [];
    const server = createServer((_, response) => response.end("here"));
    await listen(server, "127.0.0.1", 0, (error) => told.push(error));
    server.emit("error", new Error("accept ENFILE"));
    const { port } = server.address() as AddressInfo;
    expect(await (await fetch(`http://127.0.0.1:${port}`)).text()).toBe("here");
    expect(told.map(({ message }) => message)).toEqual(["accept ENFILE"]);
    server.closeAllConnections();
    server.close();
  });

  it("names a busy port, and a host that is not ours", async () => {
    const { url } = await serve();
    const port = Number(new URL(url).port);
    const busy = createRetrievalServer(bm25).listen({ port });
    await expect(busy).rejects.toThrow(ConfigError);
    await expect(busy).rejects.toThrow(`port ${port} of 127.0.0.1 is in use by another program`);
    await expect(createRetrievalServer(bm25).listen({ host: "192.0.2.1", port: 0 })).rejects.toThrow(
      /192\.0\.2\.1 is no address of this machine/,
    );
  });
});
