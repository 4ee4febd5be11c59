/** One of our vector indexes, built or searched in a process of its own; the requests are those of peers/faiss_peer.py. */
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { VectorIndexKind } from "../src/config.ts";
import { openExactIndex, openExactWriter } from "../src/retrieval/indexing/exact-vectors.ts";
import { openLanceIndex, openLanceWriter } from "../src/retrieval/indexing/lance-index.ts";
import type { SizedVectorSettings } from "../src/retrieval/indexing/manifest.ts";
import type { VectorIndex } from "../src/retrieval/indexing/vector-index.ts";
import { answerLines } from "./line-process.ts";
import type { VectorFiles } from "./retrieval-vectors.ts";

/** What an index is made of, where it lies, and how hard it is searched where that isn't left to the defaults. */
export interface RetrievalArgument {
  readonly kind: VectorIndexKind;
  readonly files: VectorFiles;
  readonly folder: string;
  readonly threads: number;
  readonly effort: { readonly probes?: number; readonly refine?: number; readonly ef?: number };
}

const { kind, files, folder, threads, effort } = JSON.parse(process.argv[2] as string) as RetrievalArgument;
const { dimensions, rows } = files;
const settings: SizedVectorSettings = { kind, metric: "inner-product", dimensions, ...effort };
const exactFile = join(folder, "vectors.f32");
/** As many rows as the peer adds at once. */
const blockRows = 8192;

async function build(): Promise<object> {
  const started = performance.now();
  const writer = kind === "exact" ? await openExactWriter(exactFile, dimensions) : await openLanceWriter(settings, folder);
  const source = await open(files.vectorFile);
  try {
    while (writer.rows < rows) {
      const block = new Float32Array(Math.min(blockRows, rows - writer.rows) * dimensions);
      await source.read(new Uint8Array(block.buffer), 0, block.byteLength, writer.rows * dimensions * 4);
      await writer.append(block);
    }
    await writer.finish();
  } finally {
    await source.close();
    await writer.close();
  }
  return { seconds: (performance.now() - started) / 1000 };
}

let opened: Promise<VectorIndex> | undefined;
const openIndex = () =>
  kind === "exact" ? openExactIndex(exactFile, { dimensions, metric: "inner-product", threads }) : openLanceIndex(settings, folder);

async function queries(): Promise<Float32Array[]> {
  const values = new Float32Array(Uint8Array.from(await readFile(files.queryFile)).buffer);
  return Array.from({ length: files.queries }, (_, query) => values.slice(query * dimensions, (query + 1) * dimensions));
}

async function answers(index: VectorIndex, topK: number): Promise<object> {
  const found = await index.search(await queries(), topK);
  return { rows: found.map((hits) => hits.map(({ row }) => row)) };
}

/** Every client asks one query after the other until the time is over. */
async function load(index: VectorIndex, topK: number, clients: number, seconds: number): Promise<object> {
  const asked = await queries();
  const latencies: number[] = [];
  const started = performance.now();
  const ends = started + seconds * 1000;
  let next = 0;
  const client = async () => {
    while (performance.now() < ends) {
      const from = performance.now();
      await index.search([asked[next++ % asked.length] as Float32Array], topK);
      latencies.push(performance.now() - from);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return { seconds: (performance.now() - started) / 1000, latencies };
}

/** Peak resident memory of this process alone, where Linux tells it. */
async function peakMemory(): Promise<number> {
  const status = await readFile("/proc/self/status", "utf8").catch(() => "");
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? process.resourceUsage().maxRSS) * 1024;
}

const loadedMemoryBytes = await peakMemory();
await answerLines({ loadedMemoryBytes }, async (request) => {
  const number = (name: string) => request[name] as number;
  if (request["task"] === "build") return build();
  opened ??= openIndex();
  const index = await opened;
  const answer =
    request["task"] === "answers"
      ? await answers(index, number("topK"))
      : await load(index, number("topK"), number("clients"), number("seconds"));
  return { ...answer, peakMemoryBytes: await peakMemory() };
});
await (await opened)?.close();
