import { setMaxListeners } from "node:events";

/** Ctrl-C, politely: the first one asks the work to stop at a safe place, the second one ends the process at once. */
export interface Interrupt {
  readonly signal: AbortSignal;
  /** Stops listening. */
  release(): void;
}

/** Listens for SIGINT and SIGTERM; `onFirst` tells the user what happens next. */
export function listenForInterrupt(onFirst: () => void): Interrupt {
  const controller = workController();
  const listener = () => {
    if (controller.signal.aborted) {
      // Dies of the signal itself: process.exit would end engine threads within a native call, which aborts with a core dump.
      process.removeAllListeners("SIGINT");
      process.kill(process.pid, "SIGINT");
      return;
    }
    controller.abort();
    onFirst();
  };
  process.on("SIGINT", listener);
  process.on("SIGTERM", listener);
  return {
    signal: controller.signal,
    release() {
      process.off("SIGINT", listener);
      process.off("SIGTERM", listener);
    },
  };
}

/** A controller whose signal very many requests may listen to at once. */
export function workController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

/** The work stopped because the user asked for it. Exit code 130. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}
