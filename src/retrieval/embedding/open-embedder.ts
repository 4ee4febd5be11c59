import type { EmbedderConfig } from "../../config.ts";
import { ConfigError } from "../../errors.ts";
import { resolveModel } from "../hub/resolve-model.ts";
import type { Embedder } from "./embedder.ts";
import { openEndpointEmbedder } from "./endpoint-embedder.ts";
import { HashedEmbedder, type HashedEmbedderState } from "./hashed-embedder.ts";
import { openOnnxEmbedder } from "./onnx-embedder.ts";

/** What `openEmbedder` needs besides the configuration. */
export interface OpenEmbedderOptions {
  /** The learnt statistics: needed by the hashed embedder. */
  readonly hashedState?: HashedEmbedderState;
  /** The folder of a model that is given by its path or its Hub name. Default: a path wins, then the Hub's cache, then the Hub. */
  readonly resolveModel?: (name: string) => Promise<string>;
}

/**
 * Opens the embedder that the configuration's `retrieval.embedder` section asks for; `close` it when done.
 * @throws ConfigError for settings that are missing or contradict the model; ModelError for a model folder that can't be used;
 * InfrastructureError when an endpoint does not answer.
 */
export async function openEmbedder(config: EmbedderConfig, options: OpenEmbedderOptions = {}): Promise<Embedder> {
  const { kind = "hashed", model } = config;
  if (kind === "endpoint") return openEndpointEmbedder(config);
  if (kind === "onnx") {
    if (model === undefined)
      throw new ConfigError("retrieval.embedder.model is needed by the onnx embedder: a folder or a Hugging Face name");
    return openOnnxEmbedder(config, await (options.resolveModel ?? withGraph)(model));
  }
  if (options.hashedState === undefined) throw new ConfigError("retrieval.embedder: the hashed embedder must first be fitted to a corpus");
  return HashedEmbedder.fromState(options.hashedState);
}

function withGraph(name: string): Promise<string> {
  return resolveModel(name, { needsGraph: true });
}
