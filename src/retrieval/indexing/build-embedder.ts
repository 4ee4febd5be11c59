import { join } from "node:path";
import type { EmbedderConfig } from "../../config.ts";
import type { Embedder } from "../embedding/embedder.ts";
import { HashedEmbedder } from "../embedding/hashed-embedder.ts";
import { readHashedState, writeHashedState } from "../embedding/hashed-state.ts";
import { openEmbedder } from "../embedding/open-embedder.ts";
import { indexFiles } from "./index-folder.ts";
import { embedderConfigOf } from "./index-settings.ts";
import type { EmbedderSettings } from "./manifest.ts";

/** Opens the embedder of an index folder; a hashed one with the statistics that the folder keeps. */
export async function openIndexEmbedder(folder: string, settings: EmbedderSettings, config: EmbedderConfig): Promise<Embedder> {
  const full = embedderConfigOf(settings, config);
  if (settings.kind !== "hashed") return openEmbedder(full);
  return openEmbedder(full, { hashedState: await readHashedState(join(folder, indexFiles.embedder)) });
}

/** Learns the statistics of a hashed embedder and keeps them in the folder. */
export async function learnHashedEmbedder(
  folder: string,
  { dimensions, idfPower }: EmbedderSettings,
  texts: AsyncIterable<string>,
): Promise<void> {
  const { state } = await HashedEmbedder.fitStream(texts, { dimensions, idfPower });
  await writeHashedState(join(folder, indexFiles.embedder), state);
}
