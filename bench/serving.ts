/** `cosearch serve retrieval`: throughput, next to another server of the same wire when one is named, or a soak. */
import { readFile } from "node:fs/promises";
import { loadavg } from "node:os";
import { type BenchmarkOptions, median, printLine } from "./options.ts";
import { type Load, runLoad, send } from "./serving-load.ts";
import { startServing } from "./serving-process.ts";
import { soakServing } from "./serving-soak.ts";

const topK = 3;

/** With `minutes`: a soak. Otherwise a line each for 1 and 32 clients: requests/s (one query each), latencies, and the ratio to the other server. */
export async function benchmarkServing(options: BenchmarkOptions): Promise<void> {
  const queries = await readQueries(options.queries ?? "data/atlas/questions.test.jsonl");
  const source = options.index === undefined ? ["--corpus", options.corpus ?? "data/atlas/corpus.jsonl"] : ["--index", options.index];
  const flags = [...source, ...(options.set ?? []).flatMap((entry) => ["--set", entry])];
  if (options.minutes !== undefined) return soakServing(flags, queries, options.minutes);

  const loadAverage = loadavg()[0];
  // Queries come again and again: with a cache only the first pass would be measured.
  const server = await startServing([...flags, "--set", "retrieval.cacheSize=0"]);
  try {
    const urls = [server.url, ...(options.peerAddress === undefined ? [] : [options.peerAddress])];
    const seconds = options.quick ? 1 : 10;
    const repeats = options.quick ? 1 : options.repeats;
    for (const clients of [1, 32]) {
      const measured: Load[][] = urls.map(() => []);
      for (let repetition = -1; repetition < repeats; repetition++) {
        for (const [side, url] of urls.entries()) {
          const start = (repetition + 1) * 9973;
          const load = await runLoad({ url, clients, seconds: repetition < 0 ? 2 : seconds, queries, topK, start });
          if (repetition >= 0) measured[side]?.push(load);
        }
      }
      const [ours, peer] = measured.map(middle) as [Load, Load | undefined];
      printLine({
        benchmark: "serving",
        retriever: server.description,
        clients,
        topK,
        secondsEach: seconds,
        repeats,
        loadAverage,
        ...ours,
        ...(peer && { peer, ratio: ours.requestsPerSecond / peer.requestsPerSecond }),
      });
    }
    if (options.peerAddress !== undefined) printLine(await agreement(server.url, options.peerAddress, queries.slice(0, 200)));
  } finally {
    await server.stop();
  }
}

function middle(loads: readonly Load[]): Load {
  const of = (key: keyof Load) => median(loads.map((load) => load[key]));
  return { requestsPerSecond: of("requestsPerSecond"), p50Milliseconds: of("p50Milliseconds"), p99Milliseconds: of("p99Milliseconds") };
}

/** Whether both servers find the same passages: that they do the same work. */
async function agreement(url: string, peer: string, queries: readonly string[]): Promise<object> {
  const body = JSON.stringify({ queries, topk: topK, return_scores: true });
  const [ours, theirs] = await Promise.all(
    [url, peer].map(async (address) => {
      const { result } = JSON.parse((await send({ url: address, body })).body) as { result: { document: { id: string } }[][] };
      return result.map((list) => list.map(({ document }) => document.id).join());
    }),
  );
  const equal = queries.filter((_, index) => ours?.[index] === theirs?.[index]).length;
  return { benchmark: "serving-agreement", queries: queries.length, topK, equalLists: equal };
}

async function readQueries(file: string): Promise<string[]> {
  const lines = (await readFile(file, "utf8")).split("\n").filter((line) => line.trim() !== "");
  return lines.map((line) => (JSON.parse(line) as { question: string }).question);
}
