/** Requests to a retrieval server from several clients at once, each with a connection of its own that is kept. */
import { Agent, request } from "node:http";
import { quantile } from "./options.ts";

/** What a request was answered with. */
export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** What is sent. */
export interface Sending {
  readonly url: string;
  readonly path?: string;
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly agent?: Agent;
}

/** Sends one request and reads its whole answer. */
export function send({ url, path = "/retrieve", method = "POST", body, headers = {}, agent }: Sending): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) };
    const sent = request(new URL(path, url), { method, headers: { ...length, ...headers }, agent }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString(), headers: response.headers });
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

/** A measured stretch of load. */
export interface Load {
  readonly requestsPerSecond: number;
  readonly p50Milliseconds: number;
  readonly p99Milliseconds: number;
}

/** `clients` ask one query after the other for `seconds`. `start` says where in `queries` they begin. */
export async function runLoad(options: {
  readonly url: string;
  readonly clients: number;
  readonly seconds: number;
  readonly queries: readonly string[];
  readonly topK: number;
  readonly start: number;
}): Promise<Load> {
  const { url, clients, seconds, queries, topK } = options;
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const latencies: number[] = [];
  let next = options.start;
  const begin = performance.now();
  const end = begin + seconds * 1000;
  const client = async () => {
    while (performance.now() < end) {
      const query = queries[next++ % queries.length] as string;
      const sentAt = performance.now();
      const { status, body } = await send({ url, agent, body: JSON.stringify({ queries: [query], topk: topK, return_scores: true }) });
      if (status !== 200) throw new Error(`${url} answered ${status}: ${body.slice(0, 200)}`);
      latencies.push(performance.now() - sentAt);
    }
  };
  try {
    await Promise.all(Array.from({ length: clients }, client));
  } finally {
    agent.destroy();
  }
  const elapsed = (performance.now() - begin) / 1000;
  latencies.sort((left, right) => left - right);
  return {
    requestsPerSecond: latencies.length / elapsed,
    p50Milliseconds: quantile(latencies, 0.5),
    p99Milliseconds: quantile(latencies, 0.99),
  };
}
