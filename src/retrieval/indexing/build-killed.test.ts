import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { retrievalConfig, smallCorpus, writeCorpus } from "../../../test/fixtures/retrieval/small-corpus.ts";
import { Rng } from "../../rng.ts";
import { buildIndex } from "./build-index.ts";
import type { BuildEvent, BuildStage } from "./build-progress.ts";
import { verifyIndex } from "./verify-index.ts";

const script = fileURLToPath(new URL("../../../test/fixtures/retrieval/build-process.ts", import.meta.url));
let folder: string;
let corpus: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "cosearch-killed-"));
  corpus = writeCorpus(folder, smallCorpus(3000));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a build to its end, or until it kills itself (-9) so many milliseconds after the first progress of a stage. */
async function run(
  index: string,
  settings: object,
  kill: readonly [stage: BuildStage, milliseconds: number] | [] = [],
): Promise<BuildEvent[]> {
  const args = ["--import", "tsx", script, corpus, index, JSON.stringify(settings), ...kill.map(String)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const events: BuildEvent[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => events.push(JSON.parse(line) as BuildEvent));
  // Not "exit": its last events may still be on their way.
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  expect([code, signal]).toEqual(kill.length > 0 ? [null, "SIGKILL"] : [0, null]);
  return events;
}

function contents(path: string): Record<string, string> {
  const names = readdirSync(path, { recursive: true, encoding: "utf8" }).filter((name) => statSync(join(path, name)).isFile());
  return Object.fromEntries(names.sort().map((name) => [name, readFileSync(join(path, name)).toString("base64")]));
}

describe("a build that is killed with -9", () => {
  it("ends with the files of an unbroken one, without embedding again what was done", async () => {
    const settings = { kind: "hybrid", embedder: { kind: "hashed", dimensions: 48 } };
    const whole = join(folder, "whole");
    await buildIndex({ config: retrievalConfig({ ...settings, corpus }), folder: whole });
    const index = join(folder, "index");
    const rng = Rng.stream(7, "kills");
    let rows = 0;
    for (const stage of ["reading", "embedding", "BM25"] as const) {
      const events = await run(index, settings, [stage, 30 * rng.uniform()]);
      const kept = events.find((event) => event.kind === "kept");
      expect(kept?.kind === "kept" ? kept.rows : 0).toBeGreaterThanOrEqual(rows);
      const blocks = events.flatMap((event) => (event.kind === "progress" && event.stage === "embedding" ? [event.done] : []));
      rows = Math.max(rows, ...blocks);
    }
    const last = await run(index, settings);
    expect(rows).toBe(3000);
    expect(last.some((event) => event.kind === "progress" && event.stage === "embedding")).toBe(false);
    expect(contents(index)).toEqual(contents(whole));
  });

  it("ends with the rows and vectors of an unbroken one in LanceDB, whose files have random names", async () => {
    const settings = { embedder: { kind: "hashed", dimensions: 32 }, index: { kind: "ivf-pq", folder: "named elsewhere" } };
    const whole = join(folder, "whole-lance");
    await buildIndex({ config: retrievalConfig({ ...settings, corpus }), folder: whole });
    const index = join(folder, "index-lance");
    await run(index, settings, ["embedding", 40]);
    await run(index, settings, ["vector index", 10]);
    await run(index, settings);
    const withoutLance = (path: string) => Object.entries(contents(path)).filter(([name]) => !name.startsWith("lance/"));
    expect(withoutLance(index)).toEqual(withoutLance(whole));
    const rows = await lanceRows(whole);
    expect(rows).toHaveLength(3000);
    expect(await lanceRows(index)).toEqual(rows);
    const parts = await verifyIndex(index, retrievalConfig({}));
    expect(parts.map(({ name }) => name)).toContain("sample");
  });
});

/** Rows and vectors of a table as LanceDB itself reads them. */
async function lanceRows(index: string): Promise<[number, number[]][]> {
  const { connect } = await import("@lancedb/lancedb");
  const connection = await connect(join(index, "lance"));
  const table = await connection.openTable("vectors");
  const rows = (await table.query().toArray()) as { row: number; vector: Iterable<number> }[];
  connection.close();
  return rows.map(({ row, vector }): [number, number[]] => [row, [...vector]]).sort(([left], [right]) => left - right);
}
