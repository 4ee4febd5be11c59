/** Errors as data, to cross a thread with their class and message. */
import { AlarmError, ConfigError, DataError, InfrastructureError, ModelError, PromptTooLongError, RunFolderError } from "../errors.ts";

/** An error as data. */
export interface PlainError {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
}

/** An error, or whatever was thrown, as data. */
export function toPlainError(error: unknown): PlainError {
  if (error instanceof Error) return { name: error.name, message: error.message, stack: error.stack };
  return { name: "Error", message: String(error) };
}

const errorClasses: Readonly<Record<string, new (message: string) => Error>> = {
  AlarmError,
  ConfigError,
  DataError,
  InfrastructureError,
  ModelError,
  PromptTooLongError,
  RangeError,
  RunFolderError,
  TypeError,
};

/** The error as it was thrown over there: same class and message. */
export function fromPlainError({ name, message, stack }: PlainError): Error {
  if (name === "AbortError") return new DOMException(message, name);
  const error = new (errorClasses[name] ?? Error)(message);
  if (stack !== undefined) error.stack = stack;
  return error;
}
