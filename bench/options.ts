/** What every benchmark is told, and how it reports. */
import type { ModelShape } from "../src/engine/embedded/architecture.ts";
import type { LoraShape } from "../src/engine/engine.ts";

/** What the command line asks of a benchmark. */
export interface BenchmarkOptions {
  /** A Python that has the peer's packages; absent: our side only. */
  readonly peer?: string | undefined;
  readonly threads: number;
  /** Measured repetitions; the median counts. */
  readonly repeats: number;
  readonly models?: readonly string[] | undefined;
  /** Parity: a model folder or GGUF file, and whether random checkpoints are compared too. */
  readonly model?: string | undefined;
  readonly random?: boolean | undefined;
  /** Models: a llama-bench program of llama.cpp, and the GGUF file that it and our sampler read. */
  readonly llamaBench?: string | undefined;
  readonly gguf?: string | undefined;
  /** Serving: an index folder, or else a corpus. */
  readonly index?: string | undefined;
  readonly corpus?: string | undefined;
  /** Serving: JSONL of {question}. */
  readonly queries?: string | undefined;
  /** Serving: configuration overrides of the server. */
  readonly set?: readonly string[] | undefined;
  /** Serving: address of another server of the same wire. */
  readonly peerAddress?: string | undefined;
  /** Serving: length of a soak; absent: throughput. */
  readonly minutes?: number | undefined;
  /** Retrieval: numbers of vectors, indexes that are measured, and where their files go meanwhile. */
  readonly rows?: readonly number[] | undefined;
  readonly only?: readonly string[] | undefined;
  readonly folder?: string | undefined;
  /** Retrieval: how hard approximate indexes look; absent: their defaults. */
  readonly probes?: number | undefined;
  readonly refine?: number | undefined;
  readonly ef?: number | undefined;
  /** Recall: questions and passages, questions of each data set, and an encoder's folder. */
  readonly data?: string | undefined;
  readonly questions?: number | undefined;
  readonly encoder?: string | undefined;
  /** Retrieval and recall: lines of JSON instead of a table. */
  readonly json?: boolean | undefined;
  /** Small sizes, to see that everything works. */
  readonly quick: boolean;
}

/** The model that both sides make, each with random weights of its own. */
export interface EngineArgument {
  readonly shape: ModelShape;
  readonly threads: number;
  readonly seed: number;
  /** Trained instead of the model, which is frozen then. */
  readonly lora?: LoraShape;
  /** False: only sampled. Default true. */
  readonly trainable?: boolean;
}

/** A model that our side loads instead of making one. */
export interface LoadedArgument {
  readonly modelFolder: string;
  readonly threads: number;
  readonly seed: number;
  readonly trainable: false;
}

/** The middle of a non-empty list (the mean of the middle two when it is even). */
export function median(values: readonly number[]): number {
  const sorted = values.slice().sort((left, right) => left - right);
  const half = sorted.length / 2;
  return ((sorted[Math.ceil(half) - 1] as number) + (sorted[Math.floor(half)] as number)) / 2;
}

/** The value below which a share of a sorted, non-empty list lies. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] as number;
}

/** Prints one measurement as a JSON line; numbers are cut to four significant digits, byte counts to whole ones. */
export function printLine(measurement: object): void {
  const shorten = (_key: string, value: unknown) =>
    typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value;
  console.log(JSON.stringify(measurement, shorten));
}
