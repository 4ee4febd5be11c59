#!/usr/bin/env node
/** The command line: finds the command, runs it, and turns its outcome into an exit code. */
import { stripVTControlCharacters } from "node:util";
import { renderUsage } from "citty";
import { ConfigError } from "../errors.ts";
import { type Command, checkFlags } from "./command.ts";
import { endingOf } from "./exit.ts";
import { suggestion } from "./nearest.ts";
import { version } from "./version.ts";

const commands: Record<string, { readonly about: string; readonly load: () => Promise<Command> }> = {
  study: { about: "train and evaluate the four systems, write the report", load: async () => (await import("./study.ts")).study },
  train: { about: "train one system", load: async () => (await import("./train.ts")).train },
  evaluate: { about: "evaluate a trained system on held-out questions", load: async () => (await import("./evaluate.ts")).evaluate },
  ask: { about: "ask a question and watch the agent work", load: async () => (await import("./ask.ts")).ask },
  report: { about: "write report.html again from a run folder", load: async () => (await import("./report.ts")).report },
  runs: { about: "list the run folders", load: async () => (await import("./runs.ts")).runs },
  doctor: { about: "check this machine and, with --config, the data", load: async () => (await import("./doctor.ts")).doctor },
};

function overview(): string {
  const list = Object.entries(commands).map(([name, { about }]) => `  ${name.padEnd(10)}${about}`);
  return [
    `cosearch ${version}: train a search agent and its document ranker together`,
    "",
    "Usage: cosearch <command> [flags]",
    "",
    ...list,
    "",
    "Examples:",
    "  cosearch study --config configs/atlas-quick.yaml --run runs/first",
    '  cosearch ask "What is the capital of Angola?" --run runs/first',
    "",
    "cosearch <command> --help shows the flags of a command.",
  ].join("\n");
}

async function run(argv: readonly string[]): Promise<void> {
  const [name, ...rest] = argv;
  if (name === undefined || name === "--help" || name === "-h" || name === "help") return print(overview());
  if (name === "--version" || name === "-v") return print(version);
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!entry) {
    const known = Object.keys(commands);
    throw new ConfigError(`unknown command ${name}${suggestion(name, known) || `; commands: ${known.join(", ")}`}`);
  }
  const command = await entry.load();
  if (rest.includes("--help") || rest.includes("-h")) return print(await help(command));
  checkFlags(name, rest, command.args as never);
  const { runCommand } = await import("citty");
  await runCommand(command, { rawArgs: rest });
}

async function help(command: Command): Promise<string> {
  const usage = await renderUsage(command, { meta: { name: "cosearch", version } });
  const plain = process.stdout.isTTY ? usage : stripVTControlCharacters(usage);
  return `${plain.trimEnd()}\n\nExamples:\n${command.examples.map((example) => `  ${example}`).join("\n")}`;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

try {
  await run(process.argv.slice(2));
} catch (error) {
  const { code, message } = endingOf(error, process.env.COSEARCH_DEBUG === "1");
  process.stderr.write(`cosearch: ${message}\n`);
  process.exitCode = code;
}
