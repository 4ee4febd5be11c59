/** Who answers in `cosearch evaluate` and `cosearch ask`: a trained run, or a configuration as it stands. */
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import type { Config } from "../config.ts";
import { ConfigError, RunFolderError } from "../errors.ts";
import { writeAtomically } from "../files/atomic-file.ts";
import { type Checkpoint, listCheckpoints, selectedCheckpoint } from "../training/checkpoint.ts";
import { differences } from "../training/differences.ts";
import { defaultRunFolder, loadConfig } from "./load-config.ts";
import { readRunConfig, singleRunFolder } from "./run-folders.ts";

/** A configuration and its weights. */
export interface Answerer {
  readonly config: Config;
  /** Where evaluations are kept. */
  readonly folder: string;
  /** Absent: the models as they are configured. */
  readonly checkpoint?: Checkpoint;
}

/** What the command line says. */
export interface AnswererArguments {
  readonly run?: string | undefined;
  readonly checkpoint?: string | undefined;
  readonly config?: string | undefined;
  readonly set: readonly string[];
}

/**
 * With `--run` alone the run in that folder (of a study: its CoSearch system); with `--config` the models as they are configured, untrained.
 * @throws ConfigError for flags that don't go together, RunFolderError for a folder that holds something else.
 */
export async function chooseAnswerer(command: string, { run, checkpoint, config: file, set }: AnswererArguments): Promise<Answerer> {
  if (file !== undefined) {
    if (checkpoint !== undefined) throw new ConfigError(`${command}: --checkpoint is for a trained run: leave it or --config out`);
    const config = loadConfig({ file, set });
    return { config, folder: run ?? defaultRunFolder(config) };
  }
  if (set.length > 0)
    throw new ConfigError(`${command}: --set goes with --config: a run answers with the configuration it was trained with`);
  if (run === undefined)
    throw new ConfigError(`${command}: name the run folder with --run DIR, or with --config FILE models to take as they are`);
  const folder = await singleRunFolder(run);
  const config = readRunConfig(folder);
  if (config.agent.endpoint === undefined) return { config, folder, checkpoint: await chooseCheckpoint(folder, checkpoint ?? "best") };
  if (checkpoint !== undefined) throw new ConfigError(`${command}: --checkpoint: ${folder} holds none, its agent is a server's`);
  return { config, folder };
}

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

/**
 * Prepares the folder for the evaluation of models as they are configured: it holds their configuration from now on.
 * @throws RunFolderError when it holds a trained run or a study, or another configuration.
 */
export async function claimEvaluationFolder({ config, folder, checkpoint }: Answerer): Promise<void> {
  if (checkpoint !== undefined) return;
  if (existsSync(join(folder, "manifest.json")) || existsSync(join(folder, "study.json"))) {
    throw new RunFolderError(`${folder} holds a trained run: evaluate it with --run alone, or choose another folder with --run`);
  }
  const file = join(folder, "config.yaml");
  if (existsSync(file)) {
    const plain = (value: Config) => JSON.parse(JSON.stringify(value)) as unknown;
    const changed = differences(plain(readRunConfig(folder)), plain(config), "");
    if (changed.length === 0) return;
    const list = changed.map((line) => `  ${line}`).join("\n");
    throw new RunFolderError(
      `${folder} holds evaluations of another configuration:\n${list}\nrestore these, or choose another folder with --run`,
    );
  }
  await mkdir(folder, { recursive: true });
  await writeAtomically(file, stringify(config));
}
