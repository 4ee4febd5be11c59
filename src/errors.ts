/** The error classes of the system. A class exists only where someone catches it; every message names the place, the value and the fix. */

/** The user's input (configuration, command line) is wrong. Exit code 2. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** A data file is wrong: `file:line: what (value): fix`. Exit code 2. */
export class DataError extends Error {
  override readonly name = "DataError";
  constructor(
    message: string,
    readonly place?: { readonly file: string; readonly line?: number },
    options?: ErrorOptions,
  ) {
    const prefix = place ? `${place.file}${place.line === undefined ? "" : `:${place.line}`}: ` : "";
    super(prefix + message, options);
  }
}

/** A model folder or checkpoint is missing, truncated or does not fit. Exit code 2. */
export class ModelError extends Error {
  override readonly name = "ModelError";
}

/** A prompt leaves no room in the model's longest sequence. The rollout loop ends the trajectory with `length`. */
export class PromptTooLongError extends Error {
  override readonly name = "PromptTooLongError";
}

/** A run folder can't be used: locked by another process, of another configuration, or unreadable. Exit code 3. */
export class RunFolderError extends Error {
  override readonly name = "RunFolderError";
}

/** A service the policy depends on (retriever, endpoint) failed for good. The rollout loop records it as `infra_error`. */
export class InfrastructureError extends Error {
  override readonly name = "InfrastructureError";
}

/** The alarm stopped a collapsing run; the last good checkpoint is kept. Exit code 4. */
export class AlarmError extends Error {
  override readonly name = "AlarmError";
}
