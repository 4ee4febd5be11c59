#!/usr/bin/env node
/** The command line: finds the command, runs it, and turns its outcome into an exit code. */
import { stripVTControlCharacters } from "node:util";
import { renderUsage } from "citty";
import { ConfigError } from "../errors.ts";
import { version } from "../files/version.ts";
import { type Command, checkFlags } from "./command.ts";
import { endingOf } from "./exit.ts";
import { suggestion } from "./nearest.ts";

interface CommandEntry {
  readonly about: string;
  readonly load: () => Promise<Command>;
}

/** Commands that share their first word, e.g. `cosearch index build`. */
interface CommandGroup {
  readonly about: string;
  readonly examples: readonly string[];
  readonly group: Readonly<Record<string, CommandEntry>>;
}

const commands: Readonly<Record<string, CommandEntry | CommandGroup>> = {
  init: { about: "write a commented configuration for your case", load: async () => (await import("./init.ts")).init },
  study: { about: "train and evaluate the four systems, write the report", load: async () => (await import("./study.ts")).study },
  "warm-start": {
    about: "teach a model the formats by demonstrations, before training",
    load: async () => (await import("./warm-start.ts")).warmStartCommand,
  },
  train: { about: "train one system", load: async () => (await import("./train.ts")).train },
  evaluate: { about: "evaluate a trained system on held-out questions", load: async () => (await import("./evaluate.ts")).evaluate },
  ask: { about: "ask a question and watch the agent work", load: async () => (await import("./ask.ts")).ask },
  index: {
    about: "build, import, look at, check and search an index of passages",
    examples: [
      "cosearch index build --corpus docs/ --index indexes/docs",
      'cosearch index search "how do I rotate the keys?" --index indexes/docs',
    ],
    group: {
      build: { about: "build an index from a corpus", load: async () => (await import("./index-build.ts")).indexBuild },
      "import-faiss": {
        about: "make an index from a FAISS file and its corpus",
        load: async () => (await import("./index-import-faiss.ts")).indexImportFaiss,
      },
      info: { about: "tell what an index is", load: async () => (await import("./index-info.ts")).indexInfo },
      verify: {
        about: "read all of an index again and name the first damage",
        load: async () => (await import("./index-verify.ts")).indexVerify,
      },
      search: { about: "search an index", load: async () => (await import("./index-search.ts")).indexSearch },
    },
  },
  serve: {
    about: "serve the first stage to other processes",
    examples: ["cosearch serve retrieval --index indexes/wiki", "cosearch serve retrieval --corpus notes --kind bm25 --port 0"],
    group: {
      retrieval: {
        about: "serve an index or a corpus over HTTP",
        load: async () => (await import("./serve-retrieval.ts")).serveRetrieval,
      },
    },
  },
  pull: { about: "fetch a model or data set from the Hugging Face Hub", load: async () => (await import("./pull.ts")).pull },
  export: { about: "write a run's models for other tools", load: async () => (await import("./export.ts")).exportRun },
  report: { about: "write report.html again from a run folder", load: async () => (await import("./report.ts")).report },
  runs: { about: "list the run folders", load: async () => (await import("./runs.ts")).runs },
  doctor: { about: "check this machine and, with --config, the data", load: async () => (await import("./doctor.ts")).doctor },
};

function overview(): string {
  return [
    `cosearch ${version}: train a search agent and its document ranker together`,
    "",
    "Usage: cosearch <command> [flags]",
    "",
    ...listed(commands),
    "",
    "Examples:",
    "  cosearch study --config configs/atlas-quick.yaml --run runs/first",
    '  cosearch ask "What is the capital of Angola?" --run runs/first',
    "",
    "cosearch <command> --help shows the flags of a command.",
  ].join("\n");
}

function groupOverview(name: string, { about, group, examples }: CommandGroup): string {
  return [
    `cosearch ${name}: ${about}`,
    "",
    `Usage: cosearch ${name} <command> [flags]`,
    "",
    ...listed(group),
    "",
    "Examples:",
    ...examples.map((example) => `  ${example}`),
    "",
    `cosearch ${name} <command> --help shows the flags of a command.`,
  ].join("\n");
}

function listed(entries: Readonly<Record<string, { readonly about: string }>>): string[] {
  const width = Math.max(...Object.keys(entries).map(({ length }) => length)) + 2;
  return Object.entries(entries).map(([name, { about }]) => `  ${name.padEnd(width)}${about}`);
}

async function run(argv: readonly string[]): Promise<void> {
  const [name = "help", ...rest] = argv;
  if (asksForHelp(name)) return print(overview());
  if (name === "--version" || name === "-v") return print(version);
  const entry = entryOf(commands, name, "");
  if ("load" in entry) return runEntry(name, entry, rest);
  const [inner = "help", ...innerRest] = rest;
  if (asksForHelp(inner)) return print(groupOverview(name, entry));
  return runEntry(`${name} ${inner}`, entryOf(entry.group, inner, `${name} `), innerRest);
}

function asksForHelp(word: string): boolean {
  return word === "--help" || word === "-h" || word === "help";
}

/** @throws ConfigError naming the nearest known command. `parent` is what stood before the name. */
function entryOf<Entry>(entries: Readonly<Record<string, Entry>>, name: string, parent: string): Entry {
  const entry = Object.hasOwn(entries, name) ? entries[name] : undefined;
  if (entry !== undefined) return entry;
  const known = Object.keys(entries);
  throw new ConfigError(`unknown command ${parent}${name}${suggestion(name, known) || `; commands: ${known.join(", ")}`}`);
}

async function runEntry(name: string, entry: CommandEntry, rest: readonly string[]): Promise<void> {
  const command = await entry.load();
  if (rest.includes("--help") || rest.includes("-h")) return print(await help(name, command));
  checkFlags(name, rest, command.args as never, command.manyOf);
  const { runCommand } = await import("citty");
  await runCommand(command, { rawArgs: [...rest] });
}

async function help(name: string, command: Command): Promise<string> {
  const parent = ["cosearch", ...name.split(" ").slice(0, -1)].join(" ");
  const usage = await renderUsage(command, { meta: { name: parent, version } });
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
