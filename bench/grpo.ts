/** A single-turn GRPO step of 128 completions, next to TRL's GRPOTrainer when `--peer` is given. */
import { loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import type { GrpoArgument } from "./grpo-worker.ts";
import { alternate, LineProcess } from "./line-process.ts";
import { benchmarkModels } from "./model-shapes.ts";
import { type BenchmarkOptions, median, printLine } from "./options.ts";

const warmUps = 2;

/** Prints one line: seconds a step, completions/s, memory. */
export async function benchmarkGrpo(options: BenchmarkOptions): Promise<void> {
  const model = "1.1M";
  const sizes = options.quick ? { prompts: 2, samples: 4, prompt: 16, tokens: 8 } : { prompts: 16, samples: 8, prompt: 96, tokens: 64 };
  const repeats = options.quick ? 2 : options.repeats;
  const loadAverage = loadavg()[0];
  const argument: GrpoArgument = { shape: benchmarkModels[model], threads: options.threads, seed: 1, ...sizes, klCoefficient: 0.04 };
  const peerFile = fileURLToPath(new URL("peers/trl_peer.py", import.meta.url));
  const ours = LineProcess.startWorker("grpo-worker.ts", argument);
  const peer = options.peer === undefined ? undefined : LineProcess.start(options.peer, [peerFile, JSON.stringify(argument)]);
  try {
    await ours.receive();
    const peerVersions = await peer?.receive<{ versions: object }>();
    const sides = peer === undefined ? [ours] : [ours, peer];
    const measured = await alternate(sides, { steps: 1 }, { warmUps, repeats });
    const completions = sizes.prompts * sizes.samples;
    const report = measured.map(({ seconds, peakMemoryBytes }) => ({
      secondsPerStep: median(seconds),
      fastestSeconds: Math.min(...seconds),
      completionsPerSecond: completions / median(seconds),
      peakMemoryBytes,
    }));
    printLine({
      benchmark: "grpo",
      model,
      ...sizes,
      headSize: argument.shape.headSize,
      klCoefficient: argument.klCoefficient,
      threads: options.threads,
      repeats,
      loadAverage,
      ...report[0],
      ...(report[1] && {
        peer: { ...report[1], ...peerVersions },
        ratio: report[1].secondsPerStep / (report[0]?.secondsPerStep as number),
      }),
    });
  } finally {
    await ours.close();
    await peer?.close();
  }
}
