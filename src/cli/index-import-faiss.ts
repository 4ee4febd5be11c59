import { ConfigError } from "../errors.ts";
import { allValues, defineStrictCommand } from "./command.ts";
import { indexFlags, makingFlags } from "./index-flags.ts";
import { makeIndex } from "./index-make.ts";

/** `cosearch index import-faiss`: vectors that exist already become an index folder. */
export const indexImportFaiss = defineStrictCommand({
  meta: { name: "import-faiss", description: "Make an index from a FAISS IndexFlatIP or IndexFlatL2 file and the corpus it was made from" },
  args: {
    faiss: { type: "string", description: "the file, its pieces (part_*; several --faiss), or their folder", valueHint: "FILE" },
    "no-check": { type: "boolean", description: "don't embed a few passages to see whether the vectors are the model's" },
    ...makingFlags,
    ...indexFlags,
  },
  examples: [
    "cosearch index import-faiss --faiss e5_Flat.index --corpus wiki-18.jsonl.gz --embedder onnx --model intfloat/e5-base-v2 --index indexes/wiki",
    "cosearch index import-faiss --faiss part_aa --faiss part_ab --corpus wiki-18.jsonl.gz --embedder endpoint --url http://127.0.0.1:8080/v1 --model intfloat/e5-base-v2 --vectors ivf-pq --index indexes/wiki",
  ],
  async run({ args, rawArgs }) {
    const faiss = allValues("faiss", rawArgs);
    if (faiss.length === 0) throw new ConfigError("index import-faiss: name the FAISS file (or its pieces) with --faiss FILE");
    const { importFaiss } = await import("../retrieval/indexing/import-faiss.ts");
    const check = !rawArgs.includes("--no-check");
    await makeIndex("index import-faiss", args, rawArgs, (options) => importFaiss({ ...options, faiss, check }));
  },
});
