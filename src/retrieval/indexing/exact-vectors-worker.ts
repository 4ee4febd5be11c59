/** The worker thread of an exact index: owns the file, serves one call after the other. */
import { parentPort, workerData } from "node:worker_threads";
import { DataError, InfrastructureError } from "../../errors.ts";
import { toPlainError } from "../../threads/plain-error.ts";
import { type ExactWorkerAnswer, type ExactWorkerCall, type ExactWorkerData, toPlainHits } from "./exact-vectors-protocol.ts";
import { ExactScan } from "./exact-vectors-scan.ts";
import { StoredVectors } from "./stored-vectors.ts";

const port = parentPort;
if (port === null) throw new Error("exact-vectors-worker.ts runs in a worker thread: use openExactIndex");

const answer = (message: ExactWorkerAnswer) => port.postMessage(message);
const { file, dimensions, metric, threads, memoryBytes, rows, closed } = workerData as ExactWorkerData;
const fail = (error: unknown) => {
  const isTold = error instanceof DataError || error instanceof InfrastructureError;
  answer({ error: toPlainError(isTold ? error : new InfrastructureError(`${file}: vectors can't be searched: ${error}`)) });
};
const closing = new Int32Array(closed);
const stopped = () => Atomics.load(closing, 0) !== 0;

async function open(): Promise<ExactScan> {
  const vectors = await StoredVectors.open(file, dimensions, memoryBytes, rows);
  try {
    const scan = await ExactScan.create(vectors, metric, threads);
    if (vectors.inMemory) await scan.load();
    answer({ rows: vectors.rows, inMemory: vectors.inMemory });
    return scan;
  } catch (error) {
    await vectors.close();
    throw error;
  }
}

const opening = open();
opening.catch(fail);

port.on("message", async ({ queries, topK }: ExactWorkerCall) => {
  try {
    const scan = await opening;
    if (queries.length === 0) {
      await scan.close();
      process.exit();
    }
    answer(toPlainHits(await scan.search(queries, topK, stopped)));
  } catch (error) {
    if (queries.length === 0) process.exit();
    fail(error);
  }
});
