import { AlarmError, ConfigError, DataError, InfrastructureError, ModelError, RunFolderError } from "../errors.ts";
import { Interrupted } from "./interrupt.ts";

/** How the process ends: the exit code, and what stderr says. */
export interface Ending {
  readonly code: number;
  readonly message: string;
}

/** What the system says when a path can't be used as it is meant to be. */
const pathProblems = ["EACCES", "EPERM", "EROFS", "ENOTDIR", "EEXIST", "EISDIR"];

/** 2: the input is wrong; 3: the run folder can't be used; 4: the alarm; 130: Ctrl-C; 1: anything else, whose stack only `debug` shows. */
export function endingOf(error: unknown, debug: boolean): Ending {
  const stack =
    debug && error instanceof Error
      ? visible(`\n${error.stack}${error.cause instanceof Error ? `\ncaused by ${error.cause.stack}` : ""}`)
      : "";
  const message = visible(error instanceof Error ? error.message : String(error));
  if (error instanceof ConfigError || error instanceof DataError || error instanceof ModelError)
    return { code: 2, message: message + stack };
  if (error instanceof RunFolderError) return { code: 3, message: message + stack };
  if (error instanceof AlarmError) return { code: 4, message: message + stack };
  if (error instanceof Interrupted) return { code: 130, message: message + stack };
  if (error instanceof InfrastructureError) return { code: 1, message: message + stack };
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  if (code === "ENOSPC" || code === "EDQUOT")
    return { code: 3, message: `the disk is full (${message}): free space, then go on with --resume${stack}` };
  if (code !== undefined && pathProblems.includes(code))
    return { code: 3, message: `${message}: check the path and its permissions, or choose another folder${stack}` };
  return { code: 1, message: `unexpected error: ${message}${debug ? stack : "\nset COSEARCH_DEBUG=1 to see where it comes from"}` };
}

/** Messages quote files and servers: their control characters, which could forge what a terminal shows, as JSON writes them. */
function visible(text: string): string {
  return text.replace(/(?![\n\t])\p{Cc}/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
