/** Training and sampling speed of the embedded engine, next to PyTorch + transformers when `--peer` is given. */
import { loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import type { ModelShape } from "../src/engine/embedded/architecture.ts";
import { alternate, LineProcess } from "./line-process.ts";
import { type BenchmarkModel, benchmarkModels, forwardFlops } from "./model-shapes.ts";
import { type BenchmarkOptions, median, printLine } from "./options.ts";

/** What is measured: steps over `batch` sequences of `length` tokens, or `tokens` written behind each of `batch` prompts. */
export type Task =
  | { readonly task: "train"; readonly batch: number; readonly length: number }
  | { readonly task: "sample"; readonly batch: number; readonly prompt: number; readonly tokens: number };

const warmUps = 3;

function tasks(quick: boolean): Task[] {
  return quick
    ? [
        { task: "train", batch: 4, length: 32 },
        { task: "sample", batch: 8, prompt: 8, tokens: 16 },
      ]
    : [
        { task: "train", batch: 32, length: 256 },
        { task: "sample", batch: 64, prompt: 32, tokens: 128 },
      ];
}

/** Tokens trained on or written, and operations, of one repetition; `frozen` weights need no gradient. */
export function work(shape: ModelShape, task: Task, frozen = false): { tokens: number; flops: number } {
  if (task.task === "train") {
    const tokens = task.batch * task.length;
    return { tokens, flops: (frozen ? 2 : 3) * forwardFlops(shape, tokens, (task.length + 1) / 2) };
  }
  const total = task.prompt + task.tokens;
  return { tokens: task.batch * task.tokens, flops: forwardFlops(shape, task.batch * total, (total + 1) / 2) };
}

/** Prints a line for each model and task. */
export async function benchmarkEngine(options: BenchmarkOptions): Promise<void> {
  const models = (options.models ?? ["1.7M", "3.7M", "10M"]) as readonly BenchmarkModel[];
  for (const model of models) {
    if (!(model in benchmarkModels)) throw new Error(`--models ${model}: known are ${Object.keys(benchmarkModels).join(", ")}`);
  }
  const size = options.quick ? 256 : 1024;
  const repeats = options.quick ? 2 : options.repeats;
  const loadAverage = loadavg()[0];
  for (const model of models) {
    const argument = { shape: benchmarkModels[model], threads: options.threads, seed: 1 };
    const peerFile = fileURLToPath(new URL("peers/engine_peer.py", import.meta.url));
    const ours = LineProcess.startWorker("engine-worker.ts", argument);
    const peer = options.peer === undefined ? undefined : LineProcess.start(options.peer, [peerFile, JSON.stringify(argument)]);
    try {
      await ours.receive();
      const peerVersions = await peer?.receive<{ versions: object }>();
      const peak = (2 * size ** 3) / Math.min(...(await ours.request({ task: "matmul", size, repeats: 20 })).seconds);
      const peerPeak = peer && (2 * size ** 3) / Math.min(...(await peer.request({ task: "matmul", size, repeats: 20 })).seconds);
      for (const task of tasks(options.quick)) {
        const sides = peer === undefined ? [ours] : [ours, peer];
        // For training a repetition is one step.
        const measured = await alternate(sides, task.task === "train" ? { ...task, steps: 1 } : task, { warmUps, repeats });
        const { tokens, flops } = work(benchmarkModels[model], task);
        const report = measured.map(({ seconds, peakMemoryBytes }) => ({
          tokensPerSecond: tokens / median(seconds),
          gigaflops: flops / median(seconds) / 1e9,
          matmulPeakShare: flops / median(seconds) / peak,
          medianSeconds: median(seconds),
          fastestSeconds: Math.min(...seconds),
          peakMemoryBytes,
        }));
        printLine({
          benchmark: "engine",
          model,
          ...task,
          headSize: benchmarkModels[model].headSize,
          threads: options.threads,
          repeats,
          loadAverage,
          ...report[0],
          matmulPeakGigaflops: peak / 1e9,
          ...(report[1] && {
            peer: { ...report[1], matmulPeakGigaflops: (peerPeak as number) / 1e9, ...peerVersions },
            ratio: (report[0]?.tokensPerSecond as number) / report[1].tokensPerSecond,
          }),
        });
      }
    } finally {
      await ours.close();
      await peer?.close();
    }
  }
}
