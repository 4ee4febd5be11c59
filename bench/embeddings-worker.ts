/** Our side of `npm run bench -- embeddings`, in a process of its own; the requests are those of peers/embeddings_peer.py. */
import { retrievalConfigSchema } from "../src/config.ts";
import { openEmbedder } from "../src/retrieval/embedding/open-embedder.ts";
import type { EmbeddingsArgument } from "./embeddings.ts";
import { answerLines } from "./line-process.ts";

const { model, threads } = JSON.parse(process.argv[2] as string) as EmbeddingsArgument;
const section = { retrieval: { embedder: { kind: "onnx", model, threads } } };
const embedder = await openEmbedder(retrievalConfigSchema.parse(section).retrieval.embedder);

await answerLines({ versions: { node: process.version }, identity: embedder.identity }, async (request) => {
  const texts = request["texts"] as string[];
  const start = performance.now();
  const vectors = await embedder.embedDocuments(texts);
  const seconds = [(performance.now() - start) / 1000];
  return {
    seconds,
    peakMemoryBytes: process.resourceUsage().maxRSS * 1024,
    ...(request["vectors"] === true && { vectors: vectors.map((vector) => [...vector]), truncated: embedder.truncated?.() ?? 0 }),
  };
});
await embedder.close?.();
