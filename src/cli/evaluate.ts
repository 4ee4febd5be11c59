import { ConfigError } from "../errors.ts";
import { buildReport, systemKeyOf } from "../evaluation/report/build-report.ts";
import { resultTable } from "../evaluation/report/result-table.ts";
import { summaryOf } from "../evaluation/report/summary.ts";
import { type Checkpoint, listCheckpoints, selectedCheckpoint } from "../training/checkpoint.ts";
import { defineStrictCommand, flags } from "./command.ts";
import { evaluateRun } from "./evaluate-run.ts";
import { heldOut, writeEvaluation } from "./evaluation-files.ts";
import { Interrupted, listenForInterrupt } from "./interrupt.ts";
import { createProgress } from "./progress.ts";
import { readRunConfig } from "./run-folders.ts";
import { showingBuild } from "./showing-build.ts";
import { openWiring, publishCheckpoint } from "./wiring.ts";

/** `cosearch evaluate`: a checkpoint's figures on the held-out questions. */
export const evaluate = defineStrictCommand({
  meta: { name: "evaluate", description: "Evaluate a trained system on held-out questions" },
  args: {
    run: flags.run,
    checkpoint: flags.checkpoint,
    json: flags.json,
  },
  examples: [
    "cosearch evaluate --run runs/atlas-cosearch-seed1",
    "cosearch evaluate --run runs/atlas-cosearch-seed1 --checkpoint 60 --json",
  ],
  async run({ args }) {
    if (args.run === undefined) throw new ConfigError("evaluate: name the run folder with --run DIR");
    const config = readRunConfig(args.run);
    const checkpoint = await chooseCheckpoint(args.run, args.checkpoint ?? "best");
    const progress = createProgress({ name: "evaluate", silent: args.json === true, every: 1 });
    const interrupt = listenForInterrupt(() => progress.line("stopping ..."));
    const opened = await showingBuild(args.json === true, interrupt.signal, (options) => openWiring(config, "answering", options));
    try {
      await publishCheckpoint(config, opened.wiring, checkpoint);
      const records = await evaluateRun(config, opened.wiring, {
        signal: interrupt.signal,
        onProgress: (done, total) => progress.update(done, total, "questions"),
      });
      progress.stop();
      const { step } = checkpoint.manifest;
      const name = args.checkpoint === undefined || args.checkpoint === "best" ? heldOut : `${heldOut}-step-${step}`;
      const header = { system: config.system, seed: config.seed, step, questions: records.length };
      await writeEvaluation(args.run, name, { header, records });
      const data = buildReport({
        config,
        configuration: "",
        seeds: [config.seed],
        evaluated: [{ key: systemKeyOf[config.system], seed: config.seed, records }],
        curves: [],
        trainingGroups: [],
      });
      if (args.json) process.stdout.write(`${JSON.stringify(summaryOf(data), null, 2)}\n`);
      else
        process.stdout.write(
          `${resultTable(data)}\n\n${records.length} questions, checkpoint of step ${step}; next: cosearch report --run ${args.run}\n`,
        );
    } catch (error) {
      if (interrupt.signal.aborted) throw new Interrupted("interrupted; nothing was written");
      throw error;
    } finally {
      progress.stop();
      interrupt.release();
      await opened.close();
    }
  },
});

/** best, last, or the checkpoint of a step. @throws ConfigError naming the steps that there are. */
export async function chooseCheckpoint(runFolder: string, choice: string): Promise<Checkpoint> {
  const selected = await selectedCheckpoint(runFolder);
  if (choice === "best") return selected;
  const checkpoints = await listCheckpoints(runFolder);
  const found = choice === "last" ? checkpoints.at(-1) : checkpoints.find(({ manifest }) => String(manifest.step) === choice);
  if (found) return found;
  const steps = checkpoints.map(({ manifest }) => manifest.step).join(", ");
  throw new ConfigError(`--checkpoint ${choice}: expected best, last or one of the steps ${steps}`);
}
