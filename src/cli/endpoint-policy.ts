/** Policies that a server samples for. */
import { existsSync } from "node:fs";
import type { Config, EndpointConfig } from "../config.ts";
import type { OpenEndpoint } from "../engine/endpoint/open-endpoint.ts";
import { ConfigError, ModelError } from "../errors.ts";
import { pullRepository } from "../retrieval/hub/pull.ts";
import type { PolicyWiring } from "../training/wiring.ts";

/** @throws ConfigError where what is to be trained is a server's. */
export function requireTrainable({ agent, ranker, system }: Config): void {
  const fix = "a server's weights can't be trained from here";
  if (agent.endpoint !== undefined) {
    throw new ConfigError(
      `agent.endpoint: ${fix}: name a model in agent.model, or use cosearch evaluate --config FILE or cosearch ask --config FILE`,
    );
  }
  if (system === "cosearch" && ranker.endpoint !== undefined) {
    throw new ConfigError(
      `ranker.endpoint: ${fix}, and system cosearch trains its ranker: name a model in ranker.model, or set system to fixed-ranker`,
    );
  }
}

/** The policy of `agent.endpoint` or `ranker.endpoint`. @throws as `openServer`. */
export async function endpointPolicy(policy: "agent" | "ranker", config: EndpointConfig): Promise<PolicyWiring> {
  const { engine, renderer, contextTokens } = await openServer(policy, config);
  return { engine, renderer, ...(contextTokens === undefined ? {} : { contextTokens }) };
}

/**
 * Opens the server of `agent.endpoint` or `ranker.endpoint`.
 * @throws ConfigError, ModelError naming the section; InfrastructureError when the server can't be reached.
 */
export async function openServer(policy: "agent" | "ranker", config: EndpointConfig): Promise<OpenEndpoint> {
  // Loaded late: help and error messages need no HTTP client.
  const { openEndpoint } = await import("../engine/endpoint/open-endpoint.ts");
  const section = `${policy}.endpoint`;
  const onNotice = (message: string) => process.stderr.write(`${section}: ${message}\n`);
  try {
    const tokenizerFolder = config.tokenizer === undefined ? undefined : await folderOfTokenizer(config.tokenizer);
    return await openEndpoint(config, { section, tokenizerFolder, onNotice });
  } catch (error) {
    if (error instanceof ModelError) throw new ModelError(`${section}.tokenizer: ${error.message}`, { cause: error });
    throw error;
  }
}

/** A path here, or a model of the Hub of which only the small files are pulled. */
async function folderOfTokenizer(nameOrPath: string): Promise<string> {
  if (existsSync(nameOrPath)) return nameOrPath;
  const [name = "", revision] = nameOrPath.split("@");
  const files = (path: string) =>
    /^((tokenizer|tokenizer_config|special_tokens_map|config|generation_config)\.json|chat_template\.jinja)$/.test(path);
  return (await pullRepository({ kind: "model", name, revision, files })).folder;
}
