import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";

/**
 * Starts a worker thread of this package, compiled or from source.
 * @param entry The worker's file without its ending, as a URL: `new URL("./worker", import.meta.url)`.
 * @param caller `import.meta.url` of the caller, whose ending tells which of the two it is.
 */
export function startWorker(entry: URL, caller: string, workerData: unknown): Worker {
  if (!caller.endsWith(".ts")) return new Worker(fileURLToPath(`${entry.href}.js`), { workerData });
  // Run from source (tests, scripts): the worker registers the TypeScript loader for itself before it imports anything.
  const loader = pathToFileURL(join(dirname(createRequire(caller).resolve("tsx/package.json")), "dist", "esm", "api", "index.mjs")).href;
  const start = `import { register } from ${JSON.stringify(loader)}; register(); await import(${JSON.stringify(`${entry.href}.ts`)});`;
  return new Worker(new URL(`data:text/javascript,${encodeURIComponent(start)}`), { workerData, execArgv: [] });
}
