/** One failed request to a server: the reason alone, without the key. */
export class EndpointFailure extends Error {
  override readonly name = "EndpointFailure";
  constructor(
    message: string,
    /** Whether the same request may succeed later. */
    readonly isTransient: boolean,
    /** HTTP status; undefined: there was no answer. */
    readonly status?: number,
    /** What the server's Retry-After asks for. */
    readonly waitSeconds = 0,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** An answer that does not hold what was asked for. The message tells what it holds instead. */
export class MalformedAnswerError extends Error {
  override readonly name = "MalformedAnswerError";
}

/** The failure behind an InfrastructureError of `withRetries`; undefined for every other error. */
export function failureBehind(error: unknown): EndpointFailure | undefined {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof EndpointFailure ? cause : undefined;
}
