import type { EndpointConfig } from "../../config.ts";
import { failureBehind } from "../../endpoint/endpoint-failure.ts";
import { ConfigError } from "../../errors.ts";
import type { TrainableEngine } from "../engine.ts";
import { loadRenderer } from "../hf-renderer.ts";
import type { Renderer } from "../renderer.ts";
import { EndpointSampler } from "./endpoint-sampler.ts";
import { inferenceOnly } from "./inference-only.ts";
import { describeModels, type ModelList } from "./model-list.ts";
import { PieceRenderer } from "./piece-renderer.ts";

/** A server that is ready to be asked. */
export interface OpenEndpoint {
  /** Samples; its training verbs reject. */
  readonly engine: TrainableEngine;
  readonly renderer: Renderer;
  /** Longest sequence: as configured, or as the server tells; absent: not known. */
  readonly contextTokens?: number;
  /** In words: address, model, how it is spoken with, what it offers. */
  readonly description: string;
}

/** What the configuration doesn't tell. */
export interface OpenEndpointOptions {
  /** Where in the configuration it stands, e.g. agent.endpoint. */
  readonly section: string;
  /** Folder of the tokenizer that `config.tokenizer` names; needed for completions. */
  readonly tokenizerFolder?: string | undefined;
  readonly onNotice?: (message: string) => void;
  /** What tests shorten. Default 500. */
  readonly backoffMilliseconds?: number;
}

/**
 * Opens an inference endpoint and asks it once what it serves. With a tokenizer, prompts are sent as token ids; without, as messages.
 * @throws ConfigError for settings that can't be used, and where no model is named and the server doesn't offer exactly one; ModelError for
 * a tokenizer that can't be read; InfrastructureError when the server can't be reached.
 */
export async function openEndpoint(config: EndpointConfig, options: OpenEndpointOptions): Promise<OpenEndpoint> {
  const { section, tokenizerFolder, onNotice, backoffMilliseconds } = options;
  const renderer = tokenizerFolder === undefined ? new PieceRenderer() : await loadRenderer(tokenizerFolder);
  const common = { ...config, section, renderer, onNotice, ...(backoffMilliseconds === undefined ? {} : { backoffMilliseconds }) };
  const asking = new EndpointSampler({ ...common, model: config.model ?? "" });
  const list = await offered(asking);
  await asking.close();
  const model = config.model ?? onlyModel(list, section);
  const contextTokens = config.contextTokens ?? list?.find(({ id }) => id === model)?.contextTokens;
  const sampler = new EndpointSampler({ ...common, model, contextTokens });
  const style = tokenizerFolder === undefined ? "chat" : `completions with the tokenizer ${tokenizerFolder}`;
  return {
    engine: inferenceOnly(sampler, section),
    renderer,
    ...(contextTokens === undefined ? {} : { contextTokens }),
    description: `${sampler.address}, model ${model} (${style}${contextTokens === undefined ? "" : `, ${contextTokens} tokens`}); ${
      list === undefined ? "the server doesn't tell what it offers" : describeModels(list)
    }`,
  };
}

/** The server's models; undefined: it is there, but has no list of them. */
async function offered(sampler: EndpointSampler): Promise<ModelList | undefined> {
  try {
    return await sampler.models();
  } catch (error) {
    const status = failureBehind(error)?.status;
    if (status === 200 || status === 404 || status === 405 || status === 501) return undefined;
    throw error;
  }
}

function onlyModel(list: ModelList | undefined, section: string): string {
  const [first, ...others] = list ?? [];
  if (first !== undefined && others.length === 0) return first.id;
  throw new ConfigError(
    `${section}.model: name a model; ${list === undefined ? "the server doesn't tell what it offers" : describeModels(list)}`,
  );
}
