/** `npm run bench -- <name> [options]`: benchmarks that print one JSON line a measurement. */
import { parseArgs } from "node:util";
import { benchmarkEmbeddings } from "./embeddings.ts";
import { benchmarkEngine } from "./engine.ts";
import { benchmarkGrpo } from "./grpo.ts";
import { benchmarkModelSizes } from "./models.ts";
import type { BenchmarkOptions } from "./options.ts";
import { benchmarkParity } from "./parity.ts";
import { benchmarkRecall } from "./recall.ts";
import { benchmarkRetrieval } from "./retrieval.ts";
import { benchmarkServing } from "./serving.ts";

const benchmarks: Readonly<Record<string, (options: BenchmarkOptions) => Promise<void>>> = {
  embeddings: benchmarkEmbeddings,
  engine: benchmarkEngine,
  grpo: benchmarkGrpo,
  models: benchmarkModelSizes,
  parity: benchmarkParity,
  retrieval: benchmarkRetrieval,
  recall: benchmarkRecall,
  serving: benchmarkServing,
};

const help = `npm run bench -- <name> [options]

  embeddings
           texts/s of an ONNX encoder, and how well its vectors agree with sentence-transformers' on 200 texts
  engine   training and sampling of the embedded engine: tokens/s, GFLOP/s, share of the matmul peak, memory
  grpo     a single-turn GRPO step of 128 completions
  models   training (LoRA and in full) and sampling at 135 and 500 million parameters: tokens/s, memory; allow 20 minutes with a peer
  parity   whether tokens, logits, greedy continuations, GRPO gradients and exports agree with transformers and peft; 1 when a bound is broken
  retrieval
           vector indexes over clustered vectors of 768 dimensions: build, recall, queries/s, memory, disk
  serving  cosearch serve retrieval with 1 and 32 clients; with --minutes a soak of good and bad requests
  recall   what BM25, the hashed embedder, hybrids and, with --encoder, an encoder find of the passages that answer real questions

  --peer PYTHON    also run bench/peers/ with this Python (PyTorch and transformers; models: peft too; grpo: TRL; embeddings: sentence-transformers; retrieval: faiss-cpu), alternating, and print ratios
  --threads N      threads of both sides (default 2)
  --repeats N      measured repetitions; the median counts (default 7; models: 3)
  --models A,B     of 1.7M, 3.7M, 10M (engine; default all); of 135M, 500M (models; default both); folders of encoders with onnx/model.onnx, and weights for the peer (embeddings)
  --model PATH     a model folder or GGUF file (parity only); --random: a random checkpoint of each architecture that the peer makes
  --llama-bench PROGRAM, --gguf FILE
                   also llama.cpp's llama-batched-bench, sampling from the same file (models only)
  --index DIR, --corpus PATH, --queries FILE, --set KEY=VALUE
                   what is served and asked (serving only; default: the atlas corpus and its test questions)
  --peer-address URL
                   another server of the same wire over the same index, measured in turn (serving only)
  --minutes N      length of the soak (serving only)
  --rows A,B       numbers of vectors (retrieval only; default 200000,1000000)
  --only A,B       of exact, ivf-rq, hnsw, ivf-pq, faiss-flat, faiss-ivf-pq, faiss-hnsw (retrieval only; exact is always measured); of lora, full, sample (models)
  --folder DIR     where vectors and indexes lie meanwhile: about 8 KB a row (retrieval only; default: the system's temporary folder)
  --data DIR       corpus/corpus.jsonl.gz and questions/NAME.jsonl (recall only; default: ../shared/data/qa)
  --questions N    the first of every data set that have labels (recall only; default 100)
  --encoder DIR    also an ONNX encoder; --folder DIR keeps its vectors for the next time (recall only)
  --probes N, --refine N, --ef N
                   how hard approximate indexes look (retrieval only; default: as retrieval.index leaves it)
  --json           lines of JSON, each as soon as it is measured; the table goes to standard error (retrieval and recall)
  --quick          small sizes, to see that everything works: the figures mean nothing

Close other programs first: any other load distorts the figures, the peer's most of all. loadAverage tells what ran before the start.`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    peer: { type: "string" },
    threads: { type: "string", default: "2" },
    repeats: { type: "string" },
    models: { type: "string" },
    model: { type: "string" },
    random: { type: "boolean", default: false },
    "llama-bench": { type: "string" },
    gguf: { type: "string" },
    index: { type: "string" },
    corpus: { type: "string" },
    queries: { type: "string" },
    set: { type: "string", multiple: true },
    "peer-address": { type: "string" },
    minutes: { type: "string" },
    rows: { type: "string" },
    only: { type: "string" },
    folder: { type: "string" },
    probes: { type: "string" },
    refine: { type: "string" },
    ef: { type: "string" },
    data: { type: "string" },
    questions: { type: "string" },
    encoder: { type: "string" },
    json: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

function count(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} ${text}: expected a positive whole number`);
  return value;
}

function optionalCount(name: "probes" | "refine" | "ef"): number | undefined {
  const text = values[name];
  return text === undefined ? undefined : count(name, text);
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0 && value < Number.POSITIVE_INFINITY)) throw new Error(`--${name} ${text}: expected a positive number`);
  return value;
}

const benchmark = benchmarks[positionals[0] ?? ""];
if (values.help || benchmark === undefined || positionals.length > 1) {
  console.log(help);
  process.exitCode = values.help ? 0 : 2;
} else {
  try {
    await benchmark({
      peer: values.peer,
      threads: count("threads", values.threads),
      repeats: count("repeats", values.repeats ?? (positionals[0] === "models" ? "3" : "7")),
      models: values.models?.split(","),
      model: values.model,
      random: values.random,
      llamaBench: values["llama-bench"],
      gguf: values.gguf,
      index: values.index,
      corpus: values.corpus,
      queries: values.queries,
      set: values.set,
      peerAddress: values["peer-address"],
      minutes: values.minutes === undefined ? undefined : positive("minutes", values.minutes),
      rows: values.rows?.split(",").map((text) => count("rows", text)),
      only: values.only?.split(","),
      folder: values.folder,
      probes: optionalCount("probes"),
      refine: optionalCount("refine"),
      ef: optionalCount("ef"),
      data: values.data,
      questions: values.questions === undefined ? undefined : count("questions", values.questions),
      encoder: values.encoder,
      json: values.json,
      quick: values.quick,
    });
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 1;
  }
}
