/** `cosearch serve retrieval` as a child process. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { send } from "./serving-load.ts";

/** A server that is listening. */
export interface ServingProcess {
  readonly url: string;
  readonly description: string;
  /** Figures of `/metrics` by name and labels, e.g. `cosearch_http_requests_total{route="/retrieve",code="200"}`. */
  metrics(): Promise<ReadonlyMap<string, number>>;
  /** Asks it to stop; resolves with the exit code. */
  stop(): Promise<number>;
}

/** Starts a server with these flags (a free port is chosen); its standard error passes through. */
export async function startServing(flags: readonly string[], token?: string): Promise<ServingProcess> {
  const main = fileURLToPath(new URL("../src/cli/main.ts", import.meta.url));
  const child: ChildProcess = spawn(process.execPath, ["--import", "tsx", main, "serve", "retrieval", "--port", "0", "--json", ...flags], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...(token === undefined ? {} : { BENCH_SERVING_TOKEN: token }) },
  });
  const gone = once(child, "exit") as Promise<[number | null]>;
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const line = await Promise.race([
    once(lines, "line"),
    gone.then(([code]) => Promise.reject(new Error(`the server ended with code ${code}`))),
  ]);
  const { url, description } = JSON.parse(line[0] as string) as { url: string; description: string };
  return {
    url,
    description,
    async metrics() {
      const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const { body } = await send({ url, path: "/metrics", method: "GET", headers });
      const figures = body.split("\n").filter((text) => text !== "" && !text.startsWith("#"));
      return new Map(figures.map((text) => [text.slice(0, text.lastIndexOf(" ")), Number(text.slice(text.lastIndexOf(" ") + 1))]));
    },
    async stop() {
      child.kill("SIGTERM");
      const [code] = await gone;
      return code ?? -1;
    },
  };
}
