/**
 * Training and sampling at the sizes of published models: next to transformers and peft when `--peer` is given, and sampling next to
 * llama.cpp's llama-batched-bench when `--llama-bench` is.
 */
import { loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import type { LoraShape } from "../src/engine/engine.ts";
import { loraTargets } from "../src/engine/engine.ts";
import { type Task, work } from "./engine.ts";
import { alternate, LineProcess } from "./line-process.ts";
import { benchmarkLlamaCpp } from "./llama-bench.ts";
import { type PublishedModel, publishedShapes } from "./model-shapes.ts";
import { type BenchmarkOptions, type EngineArgument, median, printLine } from "./options.ts";

const warmUps = 2;
const lora: LoraShape = { rank: 16, alpha: 32, targets: loraTargets };

/** One measurement; each has processes of its own, so that peaks of memory do not mix. */
interface Measurement {
  readonly name: "full" | "lora" | "sample";
  readonly task: Task;
}

function measurements(model: PublishedModel, quick: boolean): Measurement[] {
  const batch = model === "135M" ? 4 : 2;
  const train: Task = quick ? { task: "train", batch: 2, length: 32 } : { task: "train", batch, length: 256 };
  const sample: Task = quick ? { task: "sample", batch: 4, prompt: 8, tokens: 8 } : { task: "sample", batch: 16, prompt: 64, tokens: 64 };
  return [
    { name: "lora", task: train },
    { name: "full", task: train },
    { name: "sample", task: sample },
  ];
}

async function measure(model: PublishedModel, { name, task }: Measurement, options: BenchmarkOptions): Promise<string> {
  const shape = publishedShapes[model];
  const repeats = options.quick ? 1 : options.repeats;
  const argument: EngineArgument = {
    shape,
    threads: options.threads,
    seed: 1,
    ...(name === "lora" ? { lora } : {}),
    ...(name === "sample" ? { trainable: false } : {}),
  };
  const loadAverage = loadavg()[0];
  const peerFile = fileURLToPath(new URL("peers/engine_peer.py", import.meta.url));
  const ours = LineProcess.startWorker("engine-worker.ts", argument);
  const peer = options.peer === undefined ? undefined : LineProcess.start(options.peer, [peerFile, JSON.stringify(argument)]);
  try {
    await ours.receive();
    const peerVersions = await peer?.receive<{ versions: object }>();
    const sides = peer === undefined ? [ours] : [ours, peer];
    const request = task.task === "train" ? { ...task, steps: 1 } : task;
    const measured = await alternate(sides, request, { warmUps: options.quick ? 1 : warmUps, repeats });
    const { tokens, flops } = work(shape, task, name === "lora");
    const [own, other] = measured.map(({ seconds, peakMemoryBytes }) => ({
      tokensPerSecond: tokens / median(seconds),
      gigaflops: flops / median(seconds) / 1e9,
      medianSeconds: median(seconds),
      fastestSeconds: Math.min(...seconds),
      peakMemoryBytes,
    }));
    if (own === undefined) throw new Error(`${model} ${name}: nothing was measured`);
    const ratio = other && own.tokensPerSecond / other.tokensPerSecond;
    printLine({
      benchmark: "models",
      model,
      measured: name,
      ...task,
      ...(name === "lora" ? { rank: lora.rank } : {}),
      threads: options.threads,
      repeats,
      loadAverage,
      ...own,
      ...(other && { peer: { ...other, ...peerVersions }, ratio }),
    });
    return tableRow(model, name, own, other);
  } finally {
    await ours.close();
    await peer?.close();
  }
}

interface Figures {
  readonly tokensPerSecond: number;
  readonly peakMemoryBytes: number;
}

function tableRow(model: string, name: string, own: Figures, peer: Figures | undefined): string {
  const speed = ({ tokensPerSecond }: Figures) => tokensPerSecond.toFixed(0).padStart(10);
  const memory = ({ peakMemoryBytes }: Figures) => (peakMemoryBytes / 2 ** 30).toFixed(2).padStart(8);
  const compared =
    peer === undefined ? "" : speed(peer) + memory(peer) + (own.tokensPerSecond / peer.tokensPerSecond).toFixed(2).padStart(8);
  return model.padEnd(6) + name.padEnd(8) + speed(own) + memory(own) + compared;
}

/** Prints a line for each model and task, and a table on standard error. */
export async function benchmarkModelSizes(options: BenchmarkOptions): Promise<void> {
  const models = (options.models ?? Object.keys(publishedShapes)) as readonly PublishedModel[];
  for (const model of models) {
    if (!(model in publishedShapes)) throw new Error(`--models ${model}: known are ${Object.keys(publishedShapes).join(", ")}`);
  }
  const wanted = options.only ?? ["lora", "full", "sample"];
  for (const name of wanted) {
    if (!["lora", "full", "sample"].includes(name)) throw new Error(`--only ${name}: known are lora, full, sample`);
  }
  const rows: string[] = [];
  for (const model of models) {
    for (const measurement of measurements(model, options.quick)) {
      if (wanted.includes(measurement.name)) rows.push(await measure(model, measurement, options));
    }
  }
  if (options.llamaBench !== undefined) await benchmarkLlamaCpp(options.llamaBench, options);
  const header = `model task      tokens/s   GiB${options.peer === undefined ? "" : "      peer/s     GiB   ratio"}`;
  console.error([header, ...rows].join("\n"));
}
