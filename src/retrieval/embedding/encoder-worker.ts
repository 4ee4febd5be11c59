/** The worker thread's side of OnnxEmbedder: owns the model, serves one call after the other. */
import { parentPort, workerData } from "node:worker_threads";
import { toPlainError } from "../../threads/plain-error.ts";
import type { WorkerCallAnswer } from "../../threads/worker-calls.ts";
import { Encoder } from "./encoder.ts";
import type { EncoderCall, EncoderWorkerData, OpenedEncoder } from "./encoder-messages.ts";

const port = parentPort;
if (port === null) throw new Error("encoder-worker.ts runs in a worker thread: use openOnnxEmbedder");

const answer = (message: WorkerCallAnswer, transferred: ArrayBuffer[] = []) => port.postMessage(message, transferred);
const { settings, resources } = workerData as EncoderWorkerData;

const opening = Encoder.open(settings, resources);
/** The end of the call before. */
let previous: Promise<unknown> = opening.then(
  ({ dimensions, pooled }) => answer({ id: 0, value: { dimensions, pooled } satisfies OpenedEncoder }),
  (error: unknown) => answer({ id: 0, error: toPlainError(error) }),
);

port.on("message", (call: EncoderCall & { readonly id: number }) => {
  previous = previous.then(async () => {
    if (call.end) process.exit();
    try {
      const aborted = new Int32Array(call.aborted);
      const value = await (await opening).encode(call.texts, () => Atomics.load(aborted, 0) !== 0);
      answer({ id: call.id, value }, [value.vectors.buffer as ArrayBuffer]);
    } catch (error) {
      answer({ id: call.id, error: toPlainError(error) });
    }
  });
});
