/** Which policies a warm start teaches, with what, and where the results go. */
import { join } from "node:path";
import { type Config, hasRanker } from "../config.ts";
import { ConfigError } from "../errors.ts";
import type { Demonstrations } from "../training/demonstrations/make-demonstrations.ts";
import type { WarmStartCourse } from "../training/warm-start-run.ts";
import { sharesBackbone, type Wiring } from "../training/wiring.ts";
import { replacesExport } from "./export-target.ts";
import type { WarmStartResult } from "./warm-start-config.ts";
import type { WarmStartFlags } from "./warm-start-options.ts";

/** Peak learning rates where the command names none. */
const rates = { adapter: 2e-4, model: 2e-5 };

/** The configuration with both policies trainable and without reference engines, which only reinforcement learning needs. */
export function warmStartConfig(config: Config, policy: WarmStartFlags["policy"]): Config {
  const { ranker } = config;
  const hasOwn = ranker.model !== undefined || ranker.sharedBackbone;
  if (policy === "ranker" && !hasOwn) throw new ConfigError("warm-start: --policy ranker: the configuration has no ranker.model to train");
  const system = hasOwn ? "cosearch" : hasRanker(config.system) ? "retrieval-only" : config.system;
  return { ...config, system, grpo: { ...config.grpo, klCoefficient: 0 } };
}

/** @throws ConfigError when there is no demonstration for a policy. */
export function coursesOf(config: Config, wiring: Wiring, made: Demonstrations, flags: WarmStartFlags): WarmStartCourse[] {
  const { main, ranker } = wiring;
  const course = (name: "agent" | "ranker", demonstrations: WarmStartCourse["demonstrations"]): WarmStartCourse => {
    const isShared = name === "ranker" && config.ranker.sharedBackbone;
    const lora = isShared || name === "agent" ? config.agent.lora : config.ranker.lora;
    if (demonstrations.length === 0) {
      const reasons = Object.entries(made.dropped).map(([reason, count]) => `${reason} (${count})`);
      throw new ConfigError(`warm-start: no demonstration for the ${name} came of ${made.questions} questions: ${reasons.join("; ")}`);
    }
    return {
      name,
      policy: name === "agent" ? "main" : "ranker",
      engine: (name === "agent" ? main : (ranker as NonNullable<typeof ranker>)).engine,
      demonstrations,
      learningRate: flags.rate ?? (lora === undefined ? rates.model : rates.adapter),
    };
  };
  const { policy } = flags;
  if (sharesBackbone(wiring)) {
    const both = [...(policy === "ranker" ? [] : made.agent), ...(policy === "agent" ? [] : made.ranker)];
    return [course("agent", both)];
  }
  return [
    ...(policy === "ranker" ? [] : [course("agent", made.agent)]),
    ...(policy === "agent" || ranker === undefined ? [] : [course("ranker", made.ranker)]),
  ];
}

/** The folders that the results take. @throws RunFolderError when one holds other things. */
export async function resultTargets(config: Config, names: readonly ("agent" | "ranker")[], out: string): Promise<WarmStartResult[]> {
  const sources = [config.agent, config.ranker].flatMap(({ model, lora }) => [model, lora?.from]);
  const results = names.map((policy): WarmStartResult => {
    return { policy, kind: config[policy].lora === undefined ? "model" : "adapter", folder: join(out, policy) };
  });
  for (const { folder } of results) await replacesExport(folder, sources);
  return results;
}

/** Writes a trained policy as others read it. */
export async function writeResult(config: Config, { policy, kind, folder }: WarmStartResult, { engine }: WarmStartCourse): Promise<void> {
  if (kind === "adapter") await engine.exportAdapter?.(folder, config[policy].model ?? "");
  else await engine.exportModel(folder);
}
