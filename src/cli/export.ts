import { join } from "node:path";
import type { Config } from "../config.ts";
import type { TrainableEngine } from "../engine/engine.ts";
import { ConfigError } from "../errors.ts";
import type { Checkpoint } from "../training/checkpoint.ts";
import { sharesBackbone } from "../training/wiring.ts";
import { chooseCheckpoint } from "./answerer.ts";
import { defineStrictCommand, flags } from "./command.ts";
import { replacesExport } from "./export-target.ts";
import { openPolicies } from "./open-policies.ts";
import { readRunConfig, singleRunFolder } from "./run-folders.ts";
import { loadTrained } from "./wiring.ts";

/** A model that was written. */
interface Exported {
  readonly policy: "agent" | "ranker";
  readonly kind: "model" | "adapter";
  readonly folder: string;
  /** Whether it took the place of an earlier export. */
  readonly replaced: boolean;
}

interface TrainedPolicy extends Pick<Config["agent"], "model" | "lora"> {
  readonly policy: "agent" | "ranker";
  readonly engine: TrainableEngine;
}

/** `cosearch export`: trained weights for other tools. */
export const exportRun = defineStrictCommand({
  meta: {
    name: "export",
    description: "Write a run's trained models for other tools: Hugging Face folders, or adapters as PEFT and vLLM read them",
  },
  args: {
    run: { ...flags.run, description: "run folder (of a study: its CoSearch system)", required: true },
    checkpoint: flags.checkpoint,
    out: {
      type: "string",
      description: "folder to write agent/ and ranker/ into; an earlier export there is replaced",
      valueHint: "DIR",
      required: true,
    },
    merged: { type: "boolean", description: "whole models, with adapters merged into their weights" },
    json: flags.json,
  },
  examples: [
    "cosearch export --run runs/atlas-quick --out exported",
    "cosearch export --run runs/mine --checkpoint last --merged --out exported",
  ],
  async run({ args }) {
    const folder = await singleRunFolder(args.run);
    const config = readRunConfig(folder);
    if (config.agent.endpoint !== undefined)
      throw new ConfigError(`export: the agent of ${args.run} is a server's: there are no weights to write`);
    const checkpoint = await chooseCheckpoint(folder, args.checkpoint ?? "best");
    const written = await write(config, checkpoint, args.out, args.merged === true);
    if (args.json) return void process.stdout.write(`${JSON.stringify({ step: checkpoint.manifest.step, exported: written })}\n`);
    for (const { policy, kind, folder: target, replaced } of written)
      process.stdout.write(`${policy}: ${kind} after step ${checkpoint.manifest.step} in ${target}${replaced ? " (replaced)" : ""}\n`);
  },
});

async function write(config: Config, checkpoint: Checkpoint, out: string, merged: boolean): Promise<Exported[]> {
  const open: { close(): Promise<void> }[] = [];
  try {
    const policies = await openPolicies(config, "answering", (engine) => open.push(engine));
    await loadTrained(config, policies, checkpoint);
    const { main, ranker } = policies;
    const trained: readonly TrainedPolicy[] = [
      { policy: "agent", engine: main.engine, model: config.agent.model, lora: config.agent.lora },
      ...(ranker && config.system === "cosearch" && !sharesBackbone(policies)
        ? [{ policy: "ranker" as const, engine: ranker.engine, model: config.ranker.model, lora: config.ranker.lora }]
        : []),
    ];
    const sources = [config.agent, config.ranker].flatMap(({ model, lora }) => [model, lora?.from]);
    // All are checked before the first is written.
    const targets = trained.map(({ policy }) => join(out, policy));
    const replaced = await Promise.all(targets.map((folder) => replacesExport(folder, sources)));
    const written: Exported[] = [];
    for (const [index, { policy, engine, lora, model }] of trained.entries()) {
      const folder = targets[index] as string;
      const kind = lora !== undefined && !merged ? "adapter" : "model";
      if (kind === "adapter") await engine.exportAdapter?.(folder, model ?? "");
      else await engine.exportModel(folder);
      written.push({ policy, kind, folder, replaced: replaced[index] === true });
    }
    return written;
  } finally {
    await Promise.all(open.map((engine) => engine.close()));
  }
}
