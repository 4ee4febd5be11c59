import { ConfigError } from "../errors.ts";
import { defineStrictCommand } from "./command.ts";
import { indexFlags, indexTarget } from "./index-flags.ts";
import { stageProgress } from "./index-progress.ts";
import { Interrupted, listenForInterrupt } from "./interrupt.ts";

/** `cosearch index verify`: everything that can be checked. */
export const indexVerify = defineStrictCommand({
  meta: { name: "verify", description: "Read all of an index again: sizes, hashes, vectors, BM25, and a sample embedded anew" },
  args: { sample: { type: "string", description: "passages embedded and searched again; default 32", valueHint: "N" }, ...indexFlags },
  examples: ["cosearch index verify --index indexes/docs", "cosearch index verify --index indexes/docs --sample 200 --json"],
  async run({ args, rawArgs }) {
    const sample = Number(args.sample ?? 32);
    if (!Number.isInteger(sample) || sample < 0) throw new ConfigError(`index verify: --sample must be a whole number, got ${args.sample}`);
    const { config, folder } = indexTarget("index verify", rawArgs);
    const progress = stageProgress(args.json === true);
    const interrupt = listenForInterrupt(() => progress.line("stopping ..."));
    try {
      const { verifyIndex } = await import("../retrieval/indexing/verify-index.ts");
      const onEvent = progress.onEvent;
      const checks = await verifyIndex(folder, config, { sample, onEvent, signal: interrupt.signal });
      progress.stop();
      if (args.json) process.stdout.write(`${JSON.stringify({ index: folder, whole: true, checks }, null, 2)}\n`);
      else process.stdout.write(`${checks.map(({ name, found }) => `ok   ${name.padEnd(12)} ${found}`).join("\n")}\n`);
    } catch (error) {
      if (interrupt.signal.aborted) throw new Interrupted("interrupted");
      throw error;
    } finally {
      progress.stop();
      interrupt.release();
    }
  },
});
