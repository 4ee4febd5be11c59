/** `npm run bench -- embeddings`: an ONNX encoder here against sentence-transformers with the same weights, f32, threads equal. */
import { existsSync } from "node:fs";
import { loadavg } from "node:os";
import { basename, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { EmbedderIdentity } from "../src/retrieval/embedding/embedder.ts";
import { prefixed } from "../src/retrieval/embedding/encoder-families.ts";
import { benchmarkTexts, defaultCorpus } from "./embeddings-texts.ts";
import { alternate, LineProcess, type Timing } from "./line-process.ts";
import { type BenchmarkOptions, median, printLine } from "./options.ts";

/** What both sides are started with. */
export interface EmbeddingsArgument {
  /** An encoder folder in the Hugging Face layout. */
  readonly model: string;
  readonly threads: number;
}

interface Vectors extends Timing {
  readonly vectors: readonly (readonly number[])[];
  readonly truncated?: number;
}

/** Agreement that is reached: the smallest cosine of 200 texts must be above it. */
const leastCosine = 0.9999;

/** Prints a line a model: texts/s, memory, and with a peer the ratio and the smallest cosine. @throws when the vectors disagree. */
export async function benchmarkEmbeddings(options: BenchmarkOptions): Promise<void> {
  if (options.models === undefined)
    return skip("no model: name an encoder folder, e.g. one of bench/peers/embeddings_export.py, with --models FOLDER");
  for (const model of options.models) {
    if (existsSync(model)) await benchmarkModel(resolve(model), options);
    else skip(`no model: ${model} does not exist`);
  }
}

async function benchmarkModel(model: string, options: BenchmarkOptions): Promise<void> {
  const corpus = options.corpus ?? defaultCorpus();
  const { timed, compared } = await benchmarkTexts(corpus, options.quick ? 24 : 256);
  const repeats = options.quick ? 1 : options.repeats;
  const loadAverage = loadavg()[0];
  const argument: EmbeddingsArgument = { model, threads: options.threads };
  const peerFile = fileURLToPath(new URL("peers/embeddings_peer.py", import.meta.url));
  const ours = LineProcess.startWorker("embeddings-worker.ts", argument);
  const peer = options.peer === undefined ? undefined : LineProcess.start(options.peer, [peerFile, JSON.stringify(argument)]);
  try {
    const { identity, versions } = await ours.receive<{ identity: EmbedderIdentity; versions: object }>();
    const peerVersions = await peer?.receive<{ versions: object }>();
    const agreement = peer && (await compare(ours, peer, compared, identity.documentPrefix));
    const sides = peer === undefined ? [ours] : [ours, peer];
    const measured = await alternate(sides, { texts: timed }, { warmUps: 1, repeats });
    const report = measured.map(({ seconds, peakMemoryBytes }) => ({ textsPerSecond: timed.length / median(seconds), peakMemoryBytes }));
    printLine({
      benchmark: "embeddings",
      model: basename(model),
      corpus: basename(corpus),
      texts: timed.length,
      meanCharacters: timed.reduce((sum, text) => sum + text.length, 0) / timed.length,
      threads: options.threads,
      repeats,
      loadAverage,
      versions,
      ...report[0],
      ...(report[1] && {
        peer: { ...report[1], ...peerVersions },
        ratio: (report[0]?.textsPerSecond as number) / report[1].textsPerSecond,
        ...agreement,
      }),
      ...(peer === undefined && { peerSkipped: "no --peer PYTHON with sentence-transformers: neither speed nor vectors are compared" }),
    });
    if (agreement !== undefined && !(agreement.minCosine > leastCosine)) {
      throw new Error(
        `the vectors of ${model} disagree with sentence-transformers': smallest cosine ${agreement.minCosine}, text ${agreement.worstText}`,
      );
    }
  } finally {
    await ours.close();
    await peer?.close();
  }
}

/** The peer puts no prefixes: it gets the texts with ours. */
async function compare(ours: LineProcess, peer: LineProcess, texts: readonly string[], prefix: string) {
  const mine = await ours.request<Vectors>({ texts, vectors: true });
  const theirs = await peer.request<Vectors>({ texts: texts.map((text) => prefixed(prefix, text)), vectors: true });
  const cosines = texts.map((_, row) => cosine(mine.vectors[row] ?? [], theirs.vectors[row] ?? []));
  const minCosine = Math.min(...cosines);
  return {
    comparedTexts: texts.length,
    truncatedTexts: mine.truncated,
    minCosine,
    largestCosineDistance: 1 - minCosine,
    worstText: JSON.stringify(texts[cosines.indexOf(minCosine)]?.slice(0, 60)),
  };
}

/** NaN where the vectors have unequal lengths. */
function cosine(left: readonly number[], right: readonly number[]): number {
  if (left.length !== right.length) return Number.NaN;
  const dot = (one: readonly number[], other: readonly number[]) =>
    one.reduce((sum, value, index) => sum + value * (other[index] as number), 0);
  return dot(left, right) / Math.sqrt(dot(left, left) * dot(right, right));
}

function skip(reason: string): void {
  printLine({ benchmark: "embeddings", skipped: reason });
}
