import { buildReport, systemKeyOf } from "../evaluation/report/build-report.ts";
import { resultTable } from "../evaluation/report/result-table.ts";
import { summaryOf } from "../evaluation/report/summary.ts";
import { chooseAnswerer, claimEvaluationFolder } from "./answerer.ts";
import { allValues, defineStrictCommand, flags } from "./command.ts";
import { evaluateRun } from "./evaluate-run.ts";
import { heldOut, writeEvaluation } from "./evaluation-files.ts";
import { Interrupted, listenForInterrupt } from "./interrupt.ts";
import { createProgress } from "./progress.ts";
import { showingBuild } from "./showing-build.ts";
import { UnfinishedEvaluation } from "./unfinished-evaluation.ts";
import { openWiring, publishCheckpoint } from "./wiring.ts";

/** `cosearch evaluate`: figures on the held-out questions, of a checkpoint or of models as they are configured. */
export const evaluate = defineStrictCommand({
  meta: { name: "evaluate", description: "Evaluate a system on held-out questions: a trained run, or models as they are" },
  args: {
    run: { ...flags.run, description: "run folder; with --config a new one for the evaluation" },
    checkpoint: flags.checkpoint,
    config: { ...flags.config, description: "instead of a trained run: evaluate the configured models, or servers, as they are" },
    set: flags.set,
    json: flags.json,
  },
  examples: [
    "cosearch evaluate --run runs/atlas-cosearch-seed1",
    "cosearch evaluate --run runs/atlas-cosearch-seed1 --checkpoint 60 --json",
    "cosearch evaluate --config configs/server.yaml --run runs/server",
  ],
  async run({ args, rawArgs }) {
    const answerer = await chooseAnswerer("evaluate", { ...args, set: allValues("set", rawArgs) });
    const { config, folder, checkpoint } = answerer;
    await claimEvaluationFolder(answerer);
    const progress = createProgress({ name: "evaluate", silent: args.json === true, every: 1 });
    const interrupt = listenForInterrupt(() => progress.line("stopping ..."));
    const opened = await showingBuild(args.json === true, interrupt.signal, (options) => openWiring(config, "answering", options));
    try {
      const step = checkpoint?.manifest.step ?? 0;
      const name = args.checkpoint === undefined || args.checkpoint === "best" ? heldOut : `${heldOut}-step-${step}`;
      await publishCheckpoint(config, opened.wiring, checkpoint);
      const unfinished = await UnfinishedEvaluation.open(folder, name, step);
      if (unfinished.known.size > 0) progress.line(`${unfinished.known.size} questions were answered before: asking the others`);
      const records = await unfinished.guard(
        evaluateRun(config, opened.wiring, {
          known: unfinished.known,
          keep: (batch) => unfinished.keep(batch),
          signal: interrupt.signal,
          onProgress: (done, total) => progress.update(done, total, "questions"),
        }),
      );
      progress.stop();
      const header = { system: config.system, seed: config.seed, step, questions: records.length };
      await writeEvaluation(folder, name, { header, records });
      await unfinished.finish();
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
          `${resultTable(data)}\n\n${records.length} questions, ${checkpoint ? `checkpoint of step ${step}` : "models as configured"}; next: cosearch report --run ${folder}\n`,
        );
    } catch (error) {
      if (interrupt.signal.aborted)
        throw new Interrupted("interrupted; the questions of finished batches are kept: the same command asks the others");
      throw error;
    } finally {
      progress.stop();
      interrupt.release();
      await opened.close();
    }
  },
});
