/** Minutes of good and bad requests, mixed, at a retrieval server: every one has the codes that are right for it. */
import { Agent } from "node:http";
import { connect } from "node:net";
import { Rng } from "../src/rng.ts";
import { median, printLine } from "./options.ts";
import { type Answer, type Sending, send } from "./serving-load.ts";
import { type ServingProcess, startServing } from "./serving-process.ts";

const clients = 16;
const burst = 160;
const token = "soak-token";
/** Tight, so that the mix can go beyond them. */
const limits = { maxWaiting: 64, maxBodyBytes: 65_536, maxQueries: 32, maxQueryCharacters: 1000, maxTopK: 50 };
const authorization = { authorization: `Bearer ${token}` };

/** A kind of request: how often, what is sent, which codes are right. */
interface Kind {
  readonly weight: number;
  readonly codes: readonly number[];
  readonly sending: (query: string) => Partial<Sending>;
}

const body = (value: unknown): Partial<Sending> => ({ body: JSON.stringify(value), headers: authorization });
const kinds: Readonly<Record<string, Kind>> = {
  one: { weight: 40, codes: [200, 503], sending: (query) => body({ queries: [query], topk: 3, return_scores: true }) },
  several: {
    weight: 8,
    codes: [200, 503],
    sending: (query) => body({ queries: Array.from({ length: 16 }, (_, index) => `${query} ${index}`), topk: 10 }),
  },
  odd: {
    weight: 4,
    codes: [200, 503],
    sending: (query) => body({ queries: ["", "\ud800", "\u0000", query.repeat(3)], topk: null, other: 1 }),
  },
  empty: { weight: 4, codes: [200, 503], sending: () => body({ queries: [], topk: 3, return_scores: false }) },
  notJson: { weight: 6, codes: [400, 503], sending: () => ({ body: '{"queries": [', headers: authorization }) },
  nested: { weight: 1, codes: [400, 503], sending: () => ({ body: `{"queries": ${"[".repeat(30_000)}`, headers: authorization }) },
  wrongType: { weight: 6, codes: [400, 503], sending: () => body({ queries: [1, null] }) },
  wrongTopK: { weight: 4, codes: [400, 503], sending: (query) => body({ queries: [query], topk: 51 }) },
  tooMany: { weight: 3, codes: [400, 503], sending: (query) => body({ queries: Array.from({ length: 33 }, () => query) }) },
  tooLong: { weight: 3, codes: [400, 503], sending: () => body({ queries: ["x".repeat(1001)] }) },
  tooLarge: { weight: 2, codes: [413, 503], sending: () => body({ queries: ["x".repeat(70_000)] }) },
  noToken: { weight: 4, codes: [401], sending: (query) => ({ body: JSON.stringify({ queries: [query] }) }) },
  notJsonType: { weight: 3, codes: [415], sending: () => ({ body: "{}", headers: { ...authorization, "content-type": "text/plain" } }) },
  wrongMethod: { weight: 3, codes: [405], sending: () => ({ method: "GET", headers: authorization }) },
  wrongPath: { weight: 3, codes: [404], sending: () => ({ path: "/search", ...body({ queries: [] }) }) },
  health: { weight: 3, codes: [200], sending: () => ({ path: "/health", method: "GET" }) },
};

/** Prints a line with counts, mistakes, and memory in ten stretches of the time. */
export async function soakServing(flags: readonly string[], queries: readonly string[], minutes: number): Promise<void> {
  const settings = Object.entries(limits).flatMap(([key, value]) => ["--set", `serving.${key}=${value}`]);
  const server = await startServing([...flags, ...settings, "--set", "serving.tokenVariable=BENCH_SERVING_TOKEN"], token);
  const rng = Rng.stream(1, "soak");
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const codes = new Map<string, number>();
  const mistakes: string[] = [];
  const memory: { readonly minute: number; readonly heap: number; readonly resident: number }[] = [];
  const begin = performance.now();
  const minute = () => (performance.now() - begin) / 60_000;
  const query = () => queries[Math.floor(rng.uniform() * queries.length)] as string;

  const count = (name: string, kind: Kind, { status, body: text, headers }: Answer) => {
    codes.set(`${name} ${status}`, (codes.get(`${name} ${status}`) ?? 0) + 1);
    const saysWhy = status === 200 || typeof (JSON.parse(text) as { error?: unknown }).error === "string";
    const saysWhen = status !== 503 || headers["retry-after"] !== undefined;
    if (!kind.codes.includes(status) || !saysWhy || !saysWhen) mistakes.push(`${name}: ${status} ${text.slice(0, 200)}`);
  };
  const client = async () => {
    while (minute() < minutes) {
      if (rng.uniform() < 0.04) await breakOff(server.url, query(), rng.uniform());
      const [name, kind] = draw(rng.uniform());
      try {
        count(name, kind, await send({ url: server.url, agent, ...kind.sending(query()) }));
      } catch (error) {
        mistakes.push(`${name}: ${(error as Error).message}`);
      }
    }
  };
  const bursts = async () => {
    for (; minute() < minutes; await pause(5000)) {
      const one = kinds.one as Kind;
      const answers = Array.from({ length: burst }, () => send({ url: server.url, ...one.sending(query()) }));
      for (const answer of await Promise.allSettled(answers)) {
        if (answer.status === "fulfilled") count("burst", one, answer.value);
        else mistakes.push(`burst: ${(answer.reason as Error).message}`);
      }
    }
  };
  const watch = async () => {
    for (; minute() < minutes; await pause(Math.min(1000, minutes * 1000))) {
      const figures = await server.metrics();
      const figure = (name: string) => figures.get(name) ?? Number.NaN;
      memory.push({ minute: minute(), heap: figure("nodejs_heap_size_used_bytes"), resident: figure("process_resident_memory_bytes") });
    }
  };
  await Promise.all([...Array.from({ length: clients }, client), bursts(), watch()]);
  agent.destroy();
  await report(server, { minutes, codes, mistakes, memory });
}

async function report(
  server: ServingProcess,
  {
    minutes,
    codes,
    mistakes,
    memory,
  }: {
    readonly minutes: number;
    readonly codes: ReadonlyMap<string, number>;
    readonly mistakes: readonly string[];
    readonly memory: readonly { readonly minute: number; readonly heap: number; readonly resident: number }[];
  },
): Promise<void> {
  const figures = await server.metrics();
  const health = await send({ url: server.url, path: "/health", method: "GET" });
  const exitCode = await server.stop();
  const requests = [...codes.values()].reduce((sum, value) => sum + value, 0);
  // Heap figures rise until the next collection: the lowest of a stretch is what stays.
  const stretches = Array.from({ length: 10 }, (_, index) => {
    const within = memory.filter(({ minute }) => Math.floor((minute / minutes) * 10) === index);
    const megabytes = (bytes: number) => Math.round(bytes / 1e6);
    return {
      lowestHeap: megabytes(Math.min(...within.map(({ heap }) => heap))),
      medianResident: megabytes(median(within.map(({ resident }) => resident))),
    };
  });
  printLine({
    benchmark: "serving-soak",
    retriever: server.description,
    minutes,
    requests,
    requestsPerSecond: requests / (minutes * 60),
    mistakes: mistakes.length,
    mistakeExamples: mistakes.slice(0, 5),
    healthy: health.status === 200,
    exitCode,
    waitingAtEnd: figures.get("cosearch_requests_waiting"),
    retrievalFailures: figures.get("cosearch_retrieval_failures_total"),
    lowestHeapMegabytes: stretches.map(({ lowestHeap }) => lowestHeap),
    medianResidentMegabytes: stretches.map(({ medianResident }) => medianResident),
    codes: Object.fromEntries([...codes].sort()),
  });
  if (mistakes.length > 0 || exitCode !== 0 || health.status !== 200) throw new Error("the soak found mistakes: see the line above");
}

/** A client that goes away: before its request is complete, or before it is answered. */
async function breakOff(url: string, query: string, draw: number): Promise<void> {
  const socket = connect(Number(new URL(url).port), new URL(url).hostname);
  socket.on("error", () => undefined);
  const text = JSON.stringify({ queries: [query], topk: 3 });
  const length = Buffer.byteLength(text);
  const head = `POST /retrieve HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
  socket.write(draw < 0.5 ? head + text.slice(0, 5) : head + text);
  await pause(draw * 10);
  socket.destroy();
}

function draw(share: number): [name: string, kind: Kind] {
  const deck = Object.entries(kinds).flatMap((entry) => Array.from({ length: entry[1].weight }, () => entry));
  return deck[Math.floor(share * deck.length)] as [string, Kind];
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
