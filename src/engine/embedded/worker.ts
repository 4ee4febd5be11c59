/** The worker thread's side: owns the model and its policies, serves one call after the other. */
import { parentPort, workerData } from "node:worker_threads";
import { toPlainError } from "../../threads/plain-error.ts";
import type { WorkerCallAnswer } from "../../threads/worker-calls.ts";
import { EmbeddedEngineCore } from "./engine-core.ts";
import type { SamplerRequest } from "./sampling-sequence.ts";
import { type CallBody, firstPolicy, type PlainOutcome, type WorkerCall, type WorkerData } from "./worker-protocol.ts";

const port = parentPort;
if (port === null) throw new Error("worker.ts runs in a worker thread: use createEmbeddedEngine");

const answer = (message: WorkerCallAnswer) => port.postMessage(message);
const policies = new Map<number, EmbeddedEngineCore>();

/** The end of the call before: calls must not overlap. */
let previous: Promise<unknown> = EmbeddedEngineCore.create(workerData as WorkerData).then(
  (core) => {
    policies.set(firstPolicy, core);
    answer({ id: 0, value: core.shape });
  },
  (error: unknown) => answer({ id: 0, error: toPlainError(error) }),
);

port.on("message", (call: WorkerCall) => {
  previous = previous.then(async () => {
    if (call.method === "end") process.exit();
    try {
      answer({ id: call.id, value: await serve(call.policy, call) });
    } catch (error) {
      answer({ id: call.id, error: toPlainError(error) });
    }
  });
});

async function serve(policy: number, call: Exclude<CallBody, { method: "end" }>): Promise<unknown> {
  if (call.method === "addPolicy") {
    // Any policy has the weights; the first one may be closed already.
    const [beside] = policies.values();
    policies.set(policy, await (beside as EmbeddedEngineCore).beside(call.options));
    return undefined;
  }
  const core = policies.get(policy);
  if (core === undefined) throw new Error(`the engine has no policy ${policy}`);
  if (call.method === "closePolicy") {
    policies.delete(policy);
    return core.close();
  }
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
