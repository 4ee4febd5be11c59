import { readBuildState } from "../retrieval/indexing/build-progress.ts";
import { bytesText } from "../retrieval/indexing/estimate.ts";
import { goOnCommand } from "../retrieval/indexing/go-on-command.ts";
import { folderBytes } from "../retrieval/indexing/index-folder.ts";
import { type IndexManifest, readManifest } from "../retrieval/indexing/manifest.ts";
import { finishedManifest } from "../retrieval/indexing/open-index-parts.ts";
import { defineStrictCommand } from "./command.ts";
import { indexFlags, indexTarget } from "./index-flags.ts";

/** `cosearch index info`: what an index is, from its manifest alone. */
export const indexInfo = defineStrictCommand({
  meta: { name: "info", description: "Tell what an index is: kind, embedder, vectors, passages, size" },
  args: { config: indexFlags.config, set: indexFlags.set, index: indexFlags.index, json: indexFlags.json },
  examples: ["cosearch index info --index indexes/docs", "cosearch index info --index indexes/docs --json"],
  async run({ args, rawArgs }) {
    const { folder } = indexTarget("index info", rawArgs);
    const unfinished = (await readManifest(folder)) === undefined ? await readBuildState(folder) : undefined;
    const bytes = await folderBytes(folder);
    if (unfinished !== undefined) {
      const { settings, done, documents, sources } = unfinished;
      if (args.json) return print(JSON.stringify({ index: folder, finished: false, bytes, settings, done, documents, sources }, null, 2));
      const parts = done.length > 0 ? done.join(", ") : "nothing yet";
      return print(`${folder}: an unfinished index (${bytesText(bytes)}); done: ${parts}\ngo on with  ${goOnCommand(folder, unfinished)}`);
    }
    const manifest = await finishedManifest(folder);
    print(args.json ? JSON.stringify({ index: folder, finished: true, bytes, ...manifest }, null, 2) : rows(folder, manifest, bytes));
  },
});

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function rows(folder: string, manifest: IndexManifest, bytes: number): string {
  const { kind, documents, embedder, vectors, sources } = manifest;
  const { identity } = embedder ?? {};
  const told = (value: string | undefined) => JSON.stringify(value ?? "");
  const lines: [string, string][] = [
    ["index", folder],
    ["kind", kind],
    [
      "passages",
      `${documents.count.toLocaleString("en")}${documents.skipped > 0 ? ` (${documents.skipped.toLocaleString("en")} left out)` : ""}`,
    ],
    ["made from", sources.map((source) => `${source.name} (${bytesText(source.bytes)})`).join(", ")],
  ];
  if (identity) {
    const prefixes = `prefixes ${told(identity.queryPrefix)} and ${told(identity.documentPrefix)}`;
    lines.push(["embedder", `${identity.model} (${identity.kind}), ${identity.dimensions} dimensions, ${prefixes}`]);
  }
  if (vectors) {
    const { kind: layout, metric, dimensions: _, ...rest } = vectors;
    const settings = Object.entries(rest).map(([key, value]) => `${key} ${value}`);
    lines.push(["vectors", [layout, metric, ...settings].join(", ")]);
  }
  lines.push(
    ["on the disk", bytesText(bytes)],
    ["ids and order", `SHA-256 ${documents.idsSha256}`],
    ["written by", `CoSearch ${manifest.cosearch}`],
  );
  return lines.map(([name, value]) => `${name.padEnd(14)} ${value}`).join("\n");
}
