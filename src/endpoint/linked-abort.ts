/** A controller that aborts when any of `signals` does, with its reason (AbortSignal.any is younger than the oldest Node that must work). */
export function linkedAbort(signals: readonly (AbortSignal | undefined)[]): {
  readonly controller: AbortController;
  /** Stops listening to them. */
  readonly unlink: () => void;
} {
  const controller = new AbortController();
  const links = signals.flatMap((signal) => {
    if (signal === undefined) return [];
    const abort = () => controller.abort(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    return [{ signal, abort }];
  });
  const unlink = () => {
    for (const { signal, abort } of links) signal.removeEventListener("abort", abort);
  };
  return { controller, unlink };
}
