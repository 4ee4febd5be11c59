/** What the first stages find of the passages that answer real questions. */
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { retrievalConfigSchema } from "../src/config.ts";
import { documentText } from "../src/retrieval/corpus/corpus.ts";
import type { Embedder } from "../src/retrieval/embedding/embedder.ts";
import { HashedEmbedder } from "../src/retrieval/embedding/hashed-embedder.ts";
import { openEmbedder } from "../src/retrieval/embedding/open-embedder.ts";
import { Bm25Index } from "../src/retrieval/indexing/bm25-index.ts";
import { ExactIndex } from "../src/retrieval/indexing/exact-index.ts";
import { candidateFusion } from "../src/retrieval/indexing/fusion.ts";
import type { Candidate, Document } from "../src/types.ts";
import { type BenchmarkOptions, printLine } from "./options.ts";
import { type Recall, readRecallData, recallOf } from "./recall-data.ts";

/** Passages found a question, and of each side that are fused. */
const depth = 100;
/** Passages embedded in one call. */
const batchPassages = 256;

/** Best passages of a question, as an index in memory gives them. */
type Find = (question: string) => Promise<readonly Candidate[]>;

/** Prints a line, or a row of a table, for every first stage and data set. */
export async function benchmarkRecall(options: BenchmarkOptions): Promise<void> {
  const { data = "../shared/data/qa", encoder, folder, threads, quick, json = false } = options;
  const { documents, datasets } = await readRecallData(data, quick ? 10 : (options.questions ?? 100));
  const words = new Bm25Index(documents);
  const bm25: Find = async (question) => words.search(question, depth).filter(({ score }) => score > 0);
  const hashed = HashedEmbedder.fit(documents.map(documentText));
  const stages = new Map<string, Find>([["BM25", bm25]]);
  const addDense = async (name: string, embedder: Embedder) => {
    const find = await denseFind(embedder, documents, folder);
    stages.set(name, find);
    stages.set(`${name} + BM25`, hybridFind(documents, find, bm25));
  };
  await addDense("hashed", hashed);
  const { embedder: settings } = retrievalConfigSchema.parse({
    retrieval: { embedder: { kind: "onnx", model: encoder ?? "none", threads } },
  }).retrieval;
  const opened = encoder === undefined ? undefined : await openEmbedder(settings, { resolveModel: async (name) => name });
  try {
    if (opened !== undefined) await addDense(opened.identity.model, opened);
    const rows: [stage: string, dataset: string, recall: Recall][] = [];
    for (const [stage, find] of stages) {
      for (const [dataset, questions] of datasets) {
        const found: string[][] = [];
        for (const { question } of questions) found.push((await find(question)).map(({ document }) => document.id));
        const recall = recallOf(questions, found);
        rows.push([stage, dataset, recall]);
        if (json) printLine({ benchmark: "recall", stage, dataset, passages: documents.length, ...recall });
      }
    }
    if (!json) printTable(rows);
  } finally {
    await opened?.close?.();
  }
}

/** Exact search among the passages' vectors, which are kept in `folder` where one is given. */
async function denseFind(embedder: Embedder, documents: readonly Document[], folder: string | undefined): Promise<Find> {
  const texts = documents.map(documentText);
  const key = createHash("sha256")
    .update(JSON.stringify([embedder.identity, texts]))
    .digest("hex")
    .slice(0, 16);
  const file = folder === undefined || embedder.identity.kind === "hashed" ? undefined : join(folder, `passages-${key}.f32`);
  const kept = file === undefined ? undefined : await readFile(file).catch(() => undefined);
  const { dimensions } = embedder;
  const flat = kept ? new Float32Array(Uint8Array.from(kept).buffer) : await embedAll(embedder, texts);
  if (file !== undefined && kept === undefined) {
    await mkdir(folder as string, { recursive: true });
    await writeFile(file, new Uint8Array(flat.buffer));
  }
  const vectors = documents.map((_, row) => flat.subarray(row * dimensions, (row + 1) * dimensions));
  const index = new ExactIndex(documents, vectors);
  return async (question) => index.search((await embedder.embedQueries([question]))[0] as Float32Array, depth);
}

async function embedAll(embedder: Embedder, texts: readonly string[]): Promise<Float32Array> {
  const flat = new Float32Array(texts.length * embedder.dimensions);
  for (let from = 0; from < texts.length; from += batchPassages) {
    const vectors = await embedder.embedDocuments(texts.slice(from, from + batchPassages));
    vectors.forEach((vector, index) => {
      flat.set(vector, (from + index) * embedder.dimensions);
    });
  }
  return flat;
}

/** Reciprocal rank fusion with the configuration's default constant. */
function hybridFind(documents: readonly Document[], left: Find, right: Find): Find {
  const { fusionConstant } = retrievalConfigSchema.parse({}).retrieval;
  const fused = candidateFusion(documents, fusionConstant);
  return async (question) => fused([await left(question), await right(question)], depth);
}

function printTable(rows: readonly (readonly [string, string, Recall])[]): void {
  const datasets = [...new Set(rows.map(([, dataset]) => dataset))];
  console.log("any gold passage in the top 5 / all in the top 20\n");
  console.log(["first stage".padEnd(28), ...datasets.map((name) => name.slice(0, 12).padStart(12))].join(" "));
  for (const stage of new Set(rows.map(([name]) => name))) {
    const cells = rows.filter(([name]) => name === stage).map(([, , { anyAt5, allAt20 }]) => `${anyAt5.toFixed(2)}/${allAt20.toFixed(2)}`);
    console.log([stage.slice(0, 28).padEnd(28), ...cells.map((cell) => cell.padStart(12))].join(" "));
  }
  const counts = rows.filter(([name]) => name === rows[0]?.[0]).map(([, , { questions }]) => String(questions));
  console.log(["questions".padEnd(28), ...counts.map((count) => count.padStart(12))].join(" "));
}
