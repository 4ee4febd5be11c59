/** Vector indexes over clustered vectors of 768 dimensions, next to FAISS's when `--peer` is given. */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { folderBytes } from "../src/retrieval/indexing/index-folder.ts";
import { LineProcess } from "./line-process.ts";
import { type BenchmarkOptions, printLine, quantile } from "./options.ts";
import { type RetrievalMeasurement, retrievalTable } from "./retrieval-table.ts";
import { type VectorFiles, writeVectors } from "./retrieval-vectors.ts";

const topK = 50;
const dimensions = 768;
const ours = ["exact", "ivf-rq", "hnsw", "ivf-pq"] as const;
const peers = ["faiss-flat", "faiss-ivf-pq", "faiss-hnsw"] as const;
const peerFile = fileURLToPath(new URL("peers/faiss_peer.py", import.meta.url));

/** An index that is built and searched; its name tells the side and the kind. */
type Contender = (typeof ours)[number] | (typeof peers)[number];

/** What the contenders of one run share. */
interface Course {
  readonly options: BenchmarkOptions;
  readonly files: VectorFiles;
  readonly folder: string;
  /** Length of one measurement under load. */
  readonly seconds: number;
}

/** Prints a table for every number of rows; with `--json` a line a contender as soon as it is measured, and the table to standard error. */
export async function benchmarkRetrieval(options: BenchmarkOptions): Promise<void> {
  const contenders = chosen(options);
  const sizes = options.rows ?? (options.quick ? [20_000] : [200_000, 1_000_000]);
  for (const rows of sizes) {
    const folder = await mkdtemp(join(options.folder ?? tmpdir(), "cosearch-retrieval-"));
    try {
      const loadAverage = loadavg()[0];
      const queries = options.quick ? 200 : 500;
      const files = { rows, dimensions, queries, vectorFile: join(folder, "rows.f32"), queryFile: join(folder, "queries.f32") };
      console.error(`${rows} rows: making vectors`);
      await writeVectors(files, 1);
      const course = { options, files, folder, seconds: options.quick ? 2 : 10 };
      const measured: RetrievalMeasurement[] = [];
      let truth: readonly (readonly number[])[] | undefined;
      for (const name of contenders) {
        console.error(`${rows} rows: ${name}`);
        const { measurement, answers } = await measure(course, name, truth);
        truth ??= answers;
        measured.push(measurement);
        const { threads } = options;
        if (options.json) printLine({ benchmark: "retrieval", rows, dimensions, topK, queries, threads, loadAverage, ...measurement });
      }
      const table = retrievalTable(rows, dimensions, topK, measured);
      if (options.json) console.error(table);
      else console.log(table);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}

/** Exact search, whose answers are the truth, and what was asked for. */
function chosen({ peer, only }: BenchmarkOptions): Contender[] {
  const all: readonly Contender[] = peer === undefined ? ours : [...ours, ...peers];
  const unknown = only?.find((name) => !all.some((known) => known === name));
  if (unknown !== undefined) {
    const reason = peers.some((name) => name === unknown) ? "it needs --peer PYTHON" : `choose from ${[...ours, ...peers].join(", ")}`;
    throw new Error(`--only ${unknown}: ${reason}`);
  }
  return all.filter((name) => name === "exact" || only === undefined || only.includes(name));
}

/** Builds an index in one process and searches it in another. */
async function measure(course: Course, name: Contender, truth: readonly (readonly number[])[] | undefined) {
  const folder = join(course.folder, name);
  await mkdir(folder);
  const builder = start(course, name, folder);
  await builder.receive();
  const { seconds: buildSeconds } = await builder.request<{ seconds: number }>({ task: "build" });
  await builder.close();
  const searcher = start(course, name, folder);
  try {
    const { loadedMemoryBytes } = await searcher.receive<{ loadedMemoryBytes: number }>();
    const { rows } = await searcher.request<{ rows: number[][] }>({ task: "answers", topK });
    const one = await load(searcher, 1, course.seconds);
    const many = await load(searcher, 32, course.seconds);
    const measurement: RetrievalMeasurement = {
      index: name,
      buildSeconds,
      recall: sharedPart(rows, truth ?? rows),
      oneClient: one.figures,
      manyClients: many.figures,
      peakMemoryBytes: many.peakMemoryBytes,
      loadedMemoryBytes,
      diskBytes: await folderBytes(folder),
    };
    return { measurement, answers: rows };
  } finally {
    await searcher.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function start({ options, files }: Course, name: Contender, folder: string): LineProcess {
  const { threads, probes, refine, ef } = options;
  const argument = { kind: name.replace("faiss-", ""), files, folder, threads, effort: { probes, refine, ef } };
  if (!name.startsWith("faiss-")) return LineProcess.startWorker("retrieval-worker.ts", argument);
  return LineProcess.start(options.peer as string, [peerFile, JSON.stringify(argument)]);
}

async function load(searcher: LineProcess, clients: number, seconds: number) {
  const answer = await searcher.request<{ seconds: number; latencies: number[]; peakMemoryBytes: number }>({
    task: "load",
    topK,
    clients,
    seconds,
  });
  const sorted = answer.latencies.sort((left, right) => left - right);
  return {
    figures: { queriesPerSecond: sorted.length / answer.seconds, medianMs: quantile(sorted, 0.5), p99Ms: quantile(sorted, 0.99) },
    peakMemoryBytes: answer.peakMemoryBytes,
  };
}

/** Mean part of the true rows that were found. */
function sharedPart(found: readonly (readonly number[])[], truth: readonly (readonly number[])[]): number {
  const parts = truth.map((rows, query) => {
    const answers = new Set(found[query]);
    return rows.filter((row) => answers.has(row)).length / rows.length;
  });
  return parts.reduce((sum, part) => sum + part, 0) / parts.length;
}
