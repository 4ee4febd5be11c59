import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { ConfigError } from "../errors.ts";
import { evenlySpaced } from "../evenly-spaced.ts";
import { writeAtomically } from "../files/atomic-file.ts";
import { lockFolder } from "../files/folder-lock.ts";
import { loadHints } from "../training/demonstrations/hints.ts";
import { makeDemonstrations } from "../training/demonstrations/make-demonstrations.ts";
import { demonstrationSamples } from "../training/demonstrations/samples.ts";
import { checkWarmStart, type WarmStartScores } from "../training/warm-start-check.ts";
import { runWarmStart } from "../training/warm-start-run.ts";
import { openWarmStartState, removeWarmStartState, writeWarmStartState } from "../training/warm-start-state.ts";
import { allValues, defineStrictCommand, flags } from "./command.ts";
import { Interrupted, listenForInterrupt } from "./interrupt.ts";
import { loadConfig } from "./load-config.ts";
import { createProgress } from "./progress.ts";
import { showingBuild } from "./showing-build.ts";
import { took } from "./train-run.ts";
import { resultKeys, warmConfigText } from "./warm-start-config.ts";
import { coursesOf, resultTargets, warmStartConfig, writeResult } from "./warm-start-courses.ts";
import { warmStartFlags } from "./warm-start-options.ts";
import { openWiring } from "./wiring.ts";

/** `cosearch warm-start`: teaches a model the protocols by demonstrations before reinforcement learning begins. */
export const warmStartCommand = defineStrictCommand({
  meta: {
    name: "warm-start",
    description: "Teach agent and ranker their formats by demonstrations made from the training questions and the corpus",
  },
  args: {
    config: { ...flags.config, required: true },
    set: flags.set,
    seed: flags.seed,
    out: { type: "string", description: "folder for the results, agent/ and ranker/; default warm", valueHint: "DIR" },
    steps: { type: "string", description: "optimiser steps of each policy; default 100", valueHint: "N" },
    batch: { type: "string", description: "demonstrations a step; default 8", valueHint: "N" },
    rate: { type: "string", description: "peak learning rate; default 2e-4 for adapters, 2e-5 for whole models", valueHint: "X" },
    policy: { type: "string", description: "agent, ranker or both; default both", valueHint: "NAME" },
    check: { type: "string", description: "dev questions answered before and after; default 16; 0: none", valueHint: "N" },
    "save-every": { type: "string", description: "steps between saved states; default 20", valueHint: "N" },
    "write-config": { type: "string", description: "write a configuration that begins from the results", valueHint: "FILE" },
    resume: { type: "boolean", description: "go on with what is in --out" },
    json: { ...flags.json, description: "print one JSON line an optimiser step, one with the results, and nothing else" },
  },
  examples: [
    "cosearch warm-start --config cosearch.yaml --write-config warm.yaml",
    "cosearch warm-start --config cosearch.yaml --policy agent --steps 60 --rate 5e-4 --out warm-agent",
    "cosearch warm-start --config cosearch.yaml --write-config warm.yaml --resume",
  ],
  async run({ args, rawArgs }) {
    const chosen = warmStartFlags(args);
    const { out, steps, batch } = chosen;
    const set = allValues("set", rawArgs);
    const given = loadConfig({ file: args.config, set, seed: args.seed });
    const config = warmStartConfig(given, chosen.policy);
    const file = args["write-config"];
    if (file !== undefined && existsSync(file))
      throw new ConfigError(`warm-start: ${file} is there already: name another with --write-config, or move it away`);
    const started = performance.now();
    const progress = createProgress({ name: "warm-start", silent: args.json === true });
    const print = (line: object) => args.json && process.stdout.write(`${JSON.stringify(line)}\n`);
    const interrupt = listenForInterrupt(() => progress.line("stopping at a safe place (Ctrl-C again to stop at once) ..."));
    const interrupted = () => {
      return new Interrupted(`interrupted; what is done is saved in ${out}: the same command with --resume goes on`);
    };
    await mkdir(out, { recursive: true });
    const release = await lockFolder(out);
    try {
      const opened = await showingBuild(args.json === true, interrupt.signal, (options) => openWiring(config, "training", options));
      try {
        const { wiring } = opened;
        for (const [name, value] of opened.settings) progress.line(`${name.padEnd(14)} ${value}`);
        const { saveEvery: _, out: __, ...taught } = chosen;
        let state = await openWarmStartState(out, { ...taught, config, inputs: wiring.inputs }, args.resume === true);
        const made = await makeDemonstrations({
          config,
          wiring,
          hints: await loadHints(config.data.train),
          enough: steps * batch,
          signal: interrupt.signal,
        });
        if (interrupt.signal.aborted) throw interrupted();
        progress.line(
          `${made.agent.length} of ${made.questions} questions gave a demonstration (${made.ranker.length} for the ranker)${droppedText(made.dropped)}`,
        );
        const courses = coursesOf(config, wiring, made, chosen);
        const results = await resultTargets(
          config,
          courses.map(({ name }) => name as "agent" | "ranker"),
          out,
        );
        await writeAtomically(join(out, "demonstrations.jsonl"), demonstrationSamples(made, wiring));
        const questions = evenlySpaced(wiring.devQuestions, chosen.check);
        if (questions.length > 0 && state.before === undefined) {
          const before = await unlessAborted(interrupt.signal, checkWarmStart(config, wiring, questions, interrupt.signal));
          if (!before) throw interrupted();
          state = { ...state, before };
          progress.line(`before  ${scoresText(before)}`);
        }
        await writeWarmStartState(out, state);
        const total = steps * courses.length;
        const run = await runWarmStart({
          out,
          state,
          courses,
          seed: config.seed,
          steps,
          batch,
          saveEvery: chosen.saveEvery,
          signal: interrupt.signal,
          onStep(line) {
            print(line);
            const index = courses.findIndex(({ name }) => name === line.policy);
            const pace = `${Math.round(line.tokens / line.seconds)} tokens/s`;
            progress.update(index * steps + line.step, total, `${line.policy}  loss ${line.loss.toFixed(3)}  ${pace}`);
          },
        });
        progress.stop();
        if (run.status === "interrupted") throw interrupted();
        for (const [index, result] of results.entries()) await writeResult(config, result, courses[index] as (typeof courses)[number]);
        const after =
          questions.length > 0
            ? await unlessAborted(interrupt.signal, checkWarmStart(config, wiring, questions, interrupt.signal))
            : undefined;
        if (interrupt.signal.aborted) throw interrupted();
        const keys = resultKeys(results, config);
        if (file !== undefined) await writeAtomically(file, warmConfigText(file, args.config, withSeed(set, args.seed), keys));
        await removeWarmStartState(out);
        const before = state.before;
        print({ results, demonstrations: made.agent.length, questions: made.questions, dropped: made.dropped, before, after });
        if (args.json) return;
        if (after) {
          progress.line(`before  ${before ? scoresText(before) : "not checked"}`);
          progress.line(`after   ${scoresText(after)}`);
        }
        const lines = keys.map(([key, folder]) => `  ${key}: ${folder}`).join("\n");
        const next =
          file === undefined
            ? `to begin from them, say in the configuration:\n${lines}\n`
            : `${file} begins from them: cosearch train --config ${file}\n`;
        process.stdout.write(`warm start done (${took(started)}): ${results.map(({ folder }) => folder).join(", ")}\n${next}`);
      } finally {
        progress.stop();
        await opened.close();
      }
    } finally {
      interrupt.release();
      await release();
    }
  },
});

function withSeed(set: readonly string[], seed: string | undefined): readonly string[] {
  return seed === undefined ? set : [...set, `seed=${seed}`];
}

function droppedText(dropped: Readonly<Record<string, number>>): string {
  const reasons = Object.entries(dropped).map(([reason, count]) => `${count} ${reason}`);
  return reasons.length === 0 ? "" : `; dropped: ${reasons.join("; ")}`;
}

function scoresText({ questions, formatValidity, f1, searches, rankerValidity }: WarmStartScores): string {
  const ranker = rankerValidity === undefined ? "" : `, ranker output valid ${(100 * rankerValidity).toFixed(0)}%`;
  return `format valid ${(100 * formatValidity).toFixed(0)}%, F1 ${f1.toFixed(3)}, ${searches.toFixed(1)} searches${ranker} (${questions} dev questions, greedy)`;
}

/** The work's result; undefined where it ended because of the signal. */
async function unlessAborted<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result | undefined> {
  try {
    return await work;
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}
