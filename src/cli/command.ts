/** What every command shares: strict flags, repeatable flags, examples in the help. */
import type { ArgsDef, CommandDef } from "citty";
import { ConfigError } from "../errors.ts";
import { suggestion } from "./nearest.ts";

/** A command with an example that its help shows. */
export interface Command<Args extends ArgsDef = ArgsDef> extends CommandDef<Args> {
  readonly examples: readonly string[];
  /** A positional argument that may be given several times; `allPositionals` returns every one. */
  readonly manyOf?: string;
}

/** Types a command's arguments for its `run`, and hands it on as any command. */
export function defineStrictCommand<const Args extends ArgsDef>(command: Command<Args>): Command {
  return command as unknown as Command;
}

/** Flags that several commands take. */
export const flags = {
  config: { type: "string", description: "YAML configuration; relative paths in it start at its own folder", valueHint: "FILE" },
  set: {
    type: "string",
    description: "override one key, e.g. --set training.steps=20 (key=null removes what the file says); may be given several times",
    valueHint: "key=value",
  },
  seed: { type: "string", description: "seed of the run, 0 to 4294967295", valueHint: "N" },
  steps: { type: "string", description: "training steps", valueHint: "N" },
  run: { type: "string", description: "run folder", valueHint: "DIR" },
  checkpoint: { type: "string", description: "best (on dev), last, or a step number; default best", valueHint: "best|last|N" },
  json: { type: "boolean", description: "print nothing but JSON" },
} as const satisfies ArgsDef;

/**
 * Refuses what the command does not know, which citty would pass over in silence.
 * @throws ConfigError naming the flag and the nearest known one.
 */
export function checkFlags(name: string, rawArgs: readonly string[], definitions: ArgsDef, manyOf?: string): void {
  const known = [...Object.keys(definitions).filter((key) => definitions[key]?.type !== "positional"), "help"];
  const positionals = Object.keys(definitions).filter((key) => definitions[key]?.type === "positional");
  const most = manyOf === undefined ? positionals.length : Number.POSITIVE_INFINITY;
  let seen = 0;
  for (let index = 0; index < rawArgs.length; index++) {
    const argument = rawArgs[index] as string;
    if (!argument.startsWith("-") || argument === "-") {
      if (++seen > most) throw new ConfigError(`${name}: unexpected argument ${JSON.stringify(argument)}${quoteHint(positionals)}`);
      continue;
    }
    const [flag = "", value] = splitFlag(argument);
    if (!argument.startsWith("--") || !known.includes(flag)) {
      const options = known.map((key) => `--${key}`);
      throw new ConfigError(
        `${name}: unknown flag ${argument.split("=")[0]}${suggestion(`--${flag}`, options) || `; known: ${options.join(", ")}`}`,
      );
    }
    const isBoolean = flag === "help" || definitions[flag]?.type === "boolean";
    if (isBoolean && value !== undefined) throw new ConfigError(`${name}: --${flag} takes no value, got ${JSON.stringify(value)}`);
    if (isBoolean || value !== undefined) continue;
    if (rawArgs[index + 1] === undefined || rawArgs[index + 1]?.startsWith("--")) throw new ConfigError(`${name}: --${flag} needs a value`);
    index++;
  }
}

/** Every value of a flag that may be repeated, in order. */
export function allValues(flag: string, rawArgs: readonly string[]): string[] {
  return rawArgs.flatMap((argument, index) => {
    if (argument === `--${flag}`) return rawArgs[index + 1] ?? [];
    return argument.startsWith(`--${flag}=`) ? argument.slice(flag.length + 3) : [];
  });
}

/** Every argument that is neither a flag nor a flag's value, in order. */
export function allPositionals(rawArgs: readonly string[], definitions: ArgsDef): string[] {
  return rawArgs.filter((argument, index) => {
    if (argument.startsWith("-") && argument !== "-") return false;
    const before = rawArgs[index - 1];
    if (before === undefined || !before.startsWith("--") || before.includes("=")) return true;
    return definitions[before.slice(2)]?.type === "boolean";
  });
}

function splitFlag(argument: string): [string, string | undefined] {
  const at = argument.indexOf("=");
  const flag = (at < 0 ? argument : argument.slice(0, at)).replace(/^--?/, "");
  return [flag, at < 0 ? undefined : argument.slice(at + 1)];
}

function quoteHint(positionals: readonly string[]): string {
  return positionals.includes("question") ? ": put the question in quotes" : "";
}
