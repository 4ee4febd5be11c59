/**
 * Kills `cosearch index build` (-9) at random moments, goes on, and compares the finished index with an unbroken one's, file by file; of LanceDB's
 * files, whose names are random, rows and vectors. `npx tsx bench/killed-build.ts --corpus FILE [--kills 5] [--seed 1] [-- index build flags]`
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Rng } from "../src/rng.ts";

const main = fileURLToPath(new URL("../src/cli/main.ts", import.meta.url));

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    corpus: { type: "string", multiple: true },
    kills: { type: "string", default: "5" },
    seed: { type: "string", default: "1" },
    keep: { type: "boolean", default: false },
  },
});
const kills = Number(values.kills);
if (values.corpus === undefined || !Number.isInteger(kills)) {
  console.error("usage: npx tsx bench/killed-build.ts --corpus FILE [--kills 5] [--seed 1] [-- index build flags]");
  process.exit(2);
}

const rng = Rng.stream(Number(values.seed), "killed build");
const folder = await mkdtemp(join(tmpdir(), "cosearch-killed-"));
const flags = [...values.corpus.flatMap((path) => ["--corpus", path]), ...positionals];

/** One build to its end, or for so many seconds. */
async function build(
  index: string,
  seconds?: number,
): Promise<{ readonly code: number | null; readonly seconds: number; readonly log: string }> {
  const started = performance.now();
  const child = spawn(process.execPath, ["--import", "tsx", main, "index", "build", "--index", index, ...flags], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let log = "";
  child.stderr.on("data", (chunk: Buffer) => {
    log += chunk.toString();
  });
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  const stopped = new AbortController();
  if (seconds !== undefined) {
    sleep(seconds * 1000, undefined, { signal: stopped.signal }).then(
      () => child.kill("SIGKILL"),
      () => undefined,
    );
  }
  const code = await ended;
  stopped.abort();
  return { code, seconds: (performance.now() - started) / 1000, log };
}

/** SHA-256 of every file of an index by its path, LanceDB's left out. */
async function contents(index: string): Promise<Record<string, string>> {
  const hashes: Record<string, string> = {};
  const entries = await readdir(index, { recursive: true, withFileTypes: true });
  for (const entry of entries.filter((one) => one.isFile())) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(index.length + 1);
    if (!name.startsWith("lance/"))
      hashes[name] = createHash("sha256")
        .update(await readFile(path))
        .digest("hex");
  }
  return Object.fromEntries(Object.entries(hashes).sort());
}

const [whole, broken] = [join(folder, "whole"), join(folder, "broken")];
const unbroken = await build(whole);
if (unbroken.code !== 0) throw new Error(`the unbroken build failed:\n${unbroken.log}`);
const moments: number[] = [];
let total = 0;
for (let kill = 0; kill < kills; kill++) {
  // The start of the process takes about a second, in which nothing is to be killed yet; later builds have less left to do.
  const seconds = 0.8 + rng.uniform() * Math.max(0.5, (unbroken.seconds - 0.8) * 0.6);
  const attempt = await build(broken, seconds);
  if (attempt.code === 0) {
    console.log(
      JSON.stringify({ kill: kill + 1, note: `the build ended after ${attempt.seconds.toFixed(2)} s, before it was killed: started over` }),
    );
    await rm(broken, { recursive: true, force: true });
  } else {
    moments.push(Number(attempt.seconds.toFixed(2)));
    const last = attempt.log.trimEnd().split("\n").at(-1) ?? "";
    console.log(JSON.stringify({ kill: kill + 1, seconds: Number(attempt.seconds.toFixed(2)), last }));
  }
  total += attempt.seconds;
}
const final = await build(broken);
if (final.code !== 0) throw new Error(`the last build failed:\n${final.log}`);
const [expected, found] = [await contents(whole), await contents(broken)];
const different = [...new Set([...Object.keys(expected), ...Object.keys(found)])].filter((name) => expected[name] !== found[name]);
console.log(
  JSON.stringify({
    kills: moments.length,
    unbrokenSeconds: Number(unbroken.seconds.toFixed(2)),
    brokenSeconds: Number((total + final.seconds).toFixed(2)),
    files: Object.keys(expected).length,
    different,
    identical: different.length === 0,
  }),
);
if (!values.keep) await rm(folder, { recursive: true, force: true });
process.exitCode = different.length === 0 ? 0 : 1;
