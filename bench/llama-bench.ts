/** Sampling next to llama.cpp's llama-batched-bench, both from one GGUF file: it computes with the quantised weights, ours in f32. */
import { spawn } from "node:child_process";
import { loadavg } from "node:os";
import { LineProcess } from "./line-process.ts";
import { type BenchmarkOptions, type LoadedArgument, median, printLine } from "./options.ts";

/** What llama-batched-bench says of one run. */
interface BatchedBenchLine {
  /** Seconds of the prompts and of the tokens behind them. */
  readonly t_pp: number;
  readonly t_tg: number;
}

/**
 * The line of JSON in the output of llama-batched-bench.
 * @throws when there is none: the program is another one, or failed.
 */
export function readBatchedBench(program: string, output: string): BatchedBenchLine {
  const line = output.split("\n").find((candidate) => candidate.startsWith("{"));
  const parsed = line === undefined ? undefined : (JSON.parse(line) as Partial<BatchedBenchLine>);
  if (typeof parsed?.t_pp !== "number" || typeof parsed.t_tg !== "number") {
    throw new Error(`--llama-bench ${program}: expected a line with t_pp and t_tg, as llama-batched-bench --output-format jsonl prints it`);
  }
  return { t_pp: parsed.t_pp, t_tg: parsed.t_tg };
}

function runProgram(program: string, programArguments: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, programArguments, { stdio: ["ignore", "pipe", "ignore"] });
    let output = "";
    child.stdout.on("data", (part: Buffer) => {
      output += part.toString();
    });
    child.on("error", (error) => reject(new Error(`--llama-bench ${program}: ${error.message}`)));
    child.on("close", (code) => {
      if (code === 0) resolve(output);
      else reject(new Error(`--llama-bench ${program}: exit code ${code}; run it by hand to see why`));
    });
  });
}

/** Prints one line: tokens written a second by both, prompts included in the time. */
export async function benchmarkLlamaCpp(program: string, options: BenchmarkOptions): Promise<void> {
  const { gguf, threads, quick } = options;
  if (gguf === undefined) throw new Error("--llama-bench needs --gguf FILE: the model that both sides read");
  const { batch, prompt, tokens } = quick ? { batch: 4, prompt: 8, tokens: 8 } : { batch: 16, prompt: 64, tokens: 64 };
  const repeats = quick ? 1 : options.repeats;
  const loadAverage = loadavg()[0];
  const argument: LoadedArgument = { modelFolder: gguf, threads, seed: 1, trainable: false };
  const sizes = ["-npp", prompt, "-ntg", tokens, "-npl", batch, "-c", batch * (prompt + tokens), "-t", threads, "-tb", threads];
  const ours = LineProcess.startWorker("engine-worker.ts", argument);
  try {
    await ours.receive();
    const own: number[] = [];
    const peer: number[] = [];
    let peakMemoryBytes = 0;
    for (let repetition = -1; repetition < repeats; repetition++) {
      const timing = await ours.request({ task: "sample", batch, prompt, tokens });
      const output = await runProgram(program, ["-m", gguf, ...sizes.map(String), "--output-format", "jsonl"]);
      const line = readBatchedBench(program, output);
      peakMemoryBytes = timing.peakMemoryBytes;
      // The first repetition is a warm-up.
      if (repetition >= 0) {
        own.push(...timing.seconds);
        peer.push(line.t_pp + line.t_tg);
      }
    }
    const speed = (seconds: readonly number[]) => ({ tokensPerSecond: (batch * tokens) / median(seconds), medianSeconds: median(seconds) });
    printLine({
      benchmark: "models",
      model: gguf,
      measured: "sample",
      ...{ task: "sample", batch, prompt, tokens, threads, repeats, loadAverage },
      ...speed(own),
      peakMemoryBytes,
      peer: { program, ...speed(peer) },
      ratio: median(peer) / median(own),
    });
  } finally {
    await ours.close();
  }
}
