/** The worker thread's side: owns the model, serves one call after the other. */
import { parentPort, workerData } from "node:worker_threads";
import { toPlainError } from "../../threads/plain-error.ts";
import { EmbeddedEngineCore } from "./engine-core.ts";
import type { SamplerRequest } from "./sampling-sequence.ts";
import type { PlainOutcome, WorkerAnswer, WorkerCall, WorkerData } from "./worker-protocol.ts";

const port = parentPort;
if (port === null) throw new Error("worker.ts runs in a worker thread: use createEmbeddedEngine");

const answer = (message: WorkerAnswer) => port.postMessage(message);

const creation = EmbeddedEngineCore.create(workerData as WorkerData);
/** The end of the call before: calls must not overlap. */
let previous: Promise<unknown> = creation.then(
  (core) => answer({ id: 0, value: core.shape }),
  (error: unknown) => answer({ id: 0, error: toPlainError(error) }),
);

port.on("message", (call: WorkerCall) => {
  previous = previous.then(async () => {
    if (call.method === "end") process.exit();
    try {
      answer({ id: call.id, value: await serve(await creation, call) });
    } catch (error) {
      answer({ id: call.id, error: toPlainError(error) });
    }
  });
});

async function serve(core: EmbeddedEngineCore, call: Exclude<WorkerCall, { method: "end" }>): Promise<unknown> {
  if (call.method !== "sample") {
    const method = core[call.method] as (...argumentList: readonly unknown[]) => Promise<unknown>;
    return method.apply(core, call.argumentList);
  }
  const flags = new Int32Array(call.aborted);
  const requests = call.requests.map((request, index): SamplerRequest => ({ ...request, signal: sharedSignal(flags, index) }));
  const results = await core.sample(requests);
  return results.map((result): PlainOutcome => (result instanceof Error ? { error: toPlainError(result) } : { outputs: result }));
}

function sharedSignal(flags: Int32Array, index: number): { readonly aborted: boolean } {
  return {
    get aborted() {
      return Atomics.load(flags, index) !== 0;
    },
  };
}
