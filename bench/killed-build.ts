/**
 * Kills `cosearch index build` (-9) at random moments, goes on, and compares the finished index with an unbroken one's, file by file; of LanceDB's
 * files, whose names are random, rows and vectors. `npx tsx bench/killed-build.ts --corpus FILE [--kills 5] [--seed 1] [-- index build flags]`
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

/** One build to its end, or until so many seconds after its first words. */
async function build(index: string, secondsToKill?: number): Promise<Outcome> {
  const started = performance.now();
  const since = () => (performance.now() - started) / 1000;
  const args = ["--import", "tsx", main, "index", "build", "--index", index, ...flags];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  let firstWords: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  child.stderr.on("data", (chunk: Buffer) => {
    log += chunk.toString();
    if (firstWords !== undefined) return;
    firstWords = since();
    if (secondsToKill !== undefined) timer = setTimeout(() => child.kill("SIGKILL"), secondsToKill * 1000);
  });
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  clearTimeout(timer);
  return { code, seconds: since(), workSeconds: since() - (firstWords ?? 0), log };
}

interface Outcome {
  /** Null when it was killed. */
  readonly code: number | null;
  readonly seconds: number;
  /** Without the start of the process. */
  readonly workSeconds: number;
  /** What it said. */
  readonly log: string;
}

/** SHA-256 of every file of an index by its path; of LanceDB's table, of its rows and vectors in order. */
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
  if (existsSync(join(index, "lance"))) hashes["lance: rows and vectors"] = await tableHash(join(index, "lance"));
  return Object.fromEntries(Object.entries(hashes).sort());
}

async function tableHash(database: string): Promise<string> {
  const { connect } = await import("@lancedb/lancedb");
  const connection = await connect(database);
  const table = await connection.openTable("vectors");
  const rows: { readonly row: number; readonly vector: Float32Array }[] = [];
  for await (const batch of table.query().select(["row", "vector"])) {
    for (const { row, vector } of batch) rows.push({ row, vector: Float32Array.from(vector as Iterable<number>) });
  }
  connection.close();
  const hash = createHash("sha256");
  for (const { row, vector } of rows.sort((left, right) => left.row - right.row)) {
    hash.update(`${row}\n`).update(new Uint8Array(vector.buffer));
  }
  return `${rows.length} ${hash.digest("hex")}`;
}

const [whole, broken] = [join(folder, "whole"), join(folder, "broken")];
const unbroken = await build(whole);
if (unbroken.code !== 0) throw new Error(`the unbroken build failed:\n${unbroken.log}`);
let [killed, total] = [0, 0];
for (let attempts = 0; killed < kills && attempts < 4 * kills; attempts++) {
  // So that the kills spread over one whole build.
  const attempt = await build(broken, (1.5 * rng.uniform() * unbroken.workSeconds) / (kills + 1));
  total += attempt.seconds;
  const last = attempt.log.trimEnd().split("\n").at(-1) ?? "";
  if (attempt.code === null) console.log(JSON.stringify({ kill: ++killed, secondsOfWork: round(attempt.workSeconds), last }));
  else {
    if (attempt.code !== 0) throw new Error(`a build failed:\n${attempt.log}`);
    console.log(JSON.stringify({ note: "the build ended before it was killed: started over", last }));
    await rm(broken, { recursive: true, force: true });
    killed = 0;
  }
}
const final = await build(broken);
if (final.code !== 0) throw new Error(`the last build failed:\n${final.log}`);
const [expected, found] = [await contents(whole), await contents(broken)];
const different = [...new Set([...Object.keys(expected), ...Object.keys(found)])].filter((name) => expected[name] !== found[name]);
console.log(
  JSON.stringify({
    kills: killed,
    unbrokenSeconds: round(unbroken.seconds),
    brokenSeconds: round(total + final.seconds),
    files: Object.keys(expected).length,
    different,
    identical: different.length === 0,
  }),
);
if (!values.keep) await rm(folder, { recursive: true, force: true });
process.exitCode = different.length === 0 ? 0 : 1;

function round(seconds: number): number {
  return Number(seconds.toFixed(2));
}
