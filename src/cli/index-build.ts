import { defineStrictCommand } from "./command.ts";
import { indexFlags, makingFlags } from "./index-flags.ts";
import { makeIndex } from "./index-make.ts";

/** `cosearch index build`: a corpus becomes an index folder. */
export const indexBuild = defineStrictCommand({
  meta: { name: "build", description: "Build an index from a corpus; a build that was stopped goes on where it was" },
  args: { ...makingFlags, ...indexFlags },
  examples: [
    "cosearch index build --corpus docs/ --index indexes/docs",
    "cosearch index build --corpus corpus.jsonl.gz --index indexes/wiki --kind hybrid --embedder onnx --model intfloat/e5-base-v2 --vectors ivf-pq",
    "cosearch index build --config configs/wiki.yaml --set retrieval.embedder.threads=8",
  ],
  async run({ args, rawArgs }) {
    const { buildIndex } = await import("../retrieval/indexing/build-index.ts");
    await makeIndex("index build", args, rawArgs, buildIndex);
  },
});
