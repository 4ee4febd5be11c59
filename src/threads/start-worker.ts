import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";

/**
 * Starts a module as a worker thread, compiled (`.js`) or from source (`.ts`: tests, scripts), as its caller is.
 * @param caller `import.meta.url` of the caller.
 * @param name The module's name beside the caller, without extension: `encoder-worker`.
 */
export function startWorker(caller: string, name: string, workerData: unknown): Worker {
  if (!caller.endsWith(".ts")) return new Worker(new URL(`./${name}.js`, caller), { workerData });
  // The worker registers the TypeScript loader for itself before it imports anything.
  const loader = pathToFileURL(join(dirname(createRequire(caller).resolve("tsx/package.json")), "dist", "esm", "api", "index.mjs")).href;
  const start = `import { register } from ${JSON.stringify(loader)}; register(); await import(${JSON.stringify(new URL(`./${name}.ts`, caller).href)});`;
  return new Worker(new URL(`data:text/javascript,${encodeURIComponent(start)}`), { workerData, execArgv: [] });
}
