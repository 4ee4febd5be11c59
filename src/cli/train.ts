import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../config.ts";
import { ConfigError } from "../errors.ts";
import { allValues, defineStrictCommand, flags } from "./command.ts";
import { listenForInterrupt } from "./interrupt.ts";
import { defaultRunFolder, loadConfig } from "./load-config.ts";
import { createProgress } from "./progress.ts";
import { showingBuild } from "./showing-build.ts";
import { progressLine, roomAdvice, stepWords, took, trainRun } from "./train-run.ts";
import { openWiring } from "./wiring.ts";

/** `cosearch train`: trains one system in its run folder. */
export const train = defineStrictCommand({
  meta: { name: "train", description: "Train one system (config.system) in a run folder" },
  args: {
    config: flags.config,
    set: flags.set,
    seed: flags.seed,
    steps: flags.steps,
    run: { ...flags.run, description: "run folder; default runs/<name>-<system>-seed<seed>" },
    resume: { type: "boolean", description: "go on with the run in --run" },
    json: { ...flags.json, description: "print one JSON line a training step and nothing else" },
  },
  examples: [
    "cosearch train --config configs/atlas.yaml",
    "cosearch train --config configs/atlas.yaml --set system=fixed-ranker --steps 40 --seed 7 --run runs/fixed",
    "cosearch train --resume --run runs/fixed",
  ],
  async run({ args, rawArgs }) {
    const { config, runFolder } = configAndFolder(args, rawArgs);
    const started = performance.now();
    const advise = roomAdvice(config);
    const progress = createProgress({ name: config.system, silent: args.json === true });
    const interrupt = listenForInterrupt(() => progress.line("stopping at a safe place (Ctrl-C again to stop at once) ..."));
    const opened = await showingBuild(args.json === true, interrupt.signal, (options) => openWiring(config, "training", options));
    try {
      for (const [name, value] of opened.settings) progress.line(`${name.padEnd(14)} ${value}`);
      const result = await trainRun({
        config,
        runFolder,
        wiring: opened.wiring,
        resume: args.resume === true,
        signal: interrupt.signal,
        onProgress(event) {
          if (args.json && event.kind === "step") process.stdout.write(`${JSON.stringify(event.metrics)}\n`);
          const line = event.kind === "step" ? advise(event.metrics) : progressLine(event);
          if (line !== undefined) progress.line(line);
          if (event.kind === "step") progress.update(event.metrics.step, event.steps, stepWords(event.metrics));
        },
      });
      progress.stop();
      const ending = { run: runFolder, steps: result.step, checkpoint: result.checkpoint.folder };
      if (args.json) process.stdout.write(`${JSON.stringify(ending)}\n`);
      else {
        process.stdout.write(
          `trained ${result.step} steps (${took(started)}); selected checkpoint: ${result.checkpoint.folder}\nnext: cosearch evaluate --run ${runFolder}\n`,
        );
      }
    } finally {
      progress.stop();
      interrupt.release();
      await opened.close();
    }
  },
});

interface TrainArguments {
  readonly config?: string;
  readonly run?: string;
  readonly seed?: string;
  readonly steps?: string;
  readonly resume?: boolean;
}

/** A resumed run brings its own configuration; a given one must agree with it, which the trainer checks. */
function configAndFolder(args: TrainArguments, rawArgs: readonly string[]): { config: Config; runFolder: string } {
  const own = args.resume && args.run !== undefined && args.config === undefined ? join(args.run, "config.yaml") : undefined;
  if (own !== undefined && !existsSync(own))
    throw new ConfigError(`train: ${args.run} holds no run to resume: give --config too, or another --run`);
  const file = args.config ?? own;
  if (file === undefined) throw new ConfigError("train: name a configuration with --config FILE, e.g. --config configs/atlas.yaml");
  const config = loadConfig({ file, set: allValues("set", rawArgs), seed: args.seed, steps: args.steps });
  return { config, runFolder: args.run ?? defaultRunFolder(config) };
}
