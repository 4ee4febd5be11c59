/** What demonstrations and quality figures are made with: the world, its retriever and the protocols, as a run has them. */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { agentProtocolFor } from "../../src/agent/agent-protocol.ts";
import { loadConfig } from "../../src/cli/load-config.ts";
import type { Config } from "../../src/config.ts";
import { loadRenderer } from "../../src/engine/hf-renderer.ts";
import type { Renderer } from "../../src/engine/renderer.ts";
import { rankerProtocolFor } from "../../src/ranker/systems.ts";
import { createRetriever } from "../../src/retrieval/create-retriever.ts";
import type { Retriever } from "../../src/retrieval/retriever.ts";
import type { DemonstrationTools } from "./demonstrations.ts";
import { NameForge } from "./splice.ts";
import { AtlasWorld } from "./world.ts";

/** The folder of the committed world. */
export const atlasFolder = dirname(fileURLToPath(import.meta.url));

/** The embedded world, ready to demonstrate and to evaluate in. */
export interface Setting {
  readonly config: Config;
  readonly world: AtlasWorld;
  readonly retriever: Retriever;
  readonly renderer: Renderer;
  readonly tools: DemonstrationTools;
}

/** Reads the world and the tokenizer in `tokenizerFolder`; everything else is as configs/atlas.yaml says. */
export async function loadSetting(tokenizerFolder: string): Promise<Setting> {
  const config = loadConfig({ file: join(atlasFolder, "../../configs/atlas.yaml") });
  const world = new AtlasWorld(atlasFolder);
  const retriever = await createRetriever(config.retrieval, world.documents);
  const renderer = await loadRenderer(tokenizerFolder);
  const ranker = rankerProtocolFor(config, renderer);
  const tools: DemonstrationTools = {
    world,
    renderer,
    protocol: agentProtocolFor(config, renderer),
    rankerPrompt: (question, query, documents) =>
      ranker.prompt(
        question,
        query,
        documents.map((document, index) => ({ document, score: 0, rank: index + 1 })),
      ).tokenIds,
    candidates: async (query) => (await retriever.search([query], config.retrieval.candidates))[0] ?? [],
    forge: new NameForge(world.names()),
    topK: config.ranker.topK,
    maxSearches: config.agent.maxSearches,
    spliceShare: 0.5,
    contextWeight: 0.2,
  };
  return { config, world, retriever, renderer, tools };
}
