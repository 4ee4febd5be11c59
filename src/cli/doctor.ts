import { existsSync, statfsSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { join } from "node:path";
import type { Config, EndpointConfig, RetrievalConfig } from "../config.ts";
import type { ModelShape } from "../engine/embedded/architecture.ts";
import { loadRenderer } from "../engine/hf-renderer.ts";
import { ConfigError } from "../errors.ts";
import { resolveModel } from "../retrieval/hub/resolve-model.ts";
import { indexFiles } from "../retrieval/indexing/index-folder.ts";
import { openRetriever } from "../retrieval/open-retriever.ts";
import { loadQuestions } from "../training/dataset.ts";
import { preflight } from "../training/preflight.ts";
import { checkKernels } from "./check-kernels.ts";
import { allValues, defineStrictCommand, flags } from "./command.ts";
import { openServer } from "./endpoint-policy.ts";
import { loadConfig } from "./load-config.ts";
import { checkMemory, memorySettings, planPolicies } from "./memory-check.ts";

interface Check {
  readonly name: string;
  readonly ok: boolean;
  /** What was found. */
  readonly found: string;
  /** What to do, where something is to be done. */
  readonly fix?: string;
}

const gibibyte = 2 ** 30;

/** `cosearch doctor`: what this machine is, and whether the configured files can be used. */
export const doctor = defineStrictCommand({
  meta: { name: "doctor", description: "Check this machine and, with --config, the models and data" },
  args: { config: flags.config, set: flags.set, json: flags.json },
  examples: ["cosearch doctor", "cosearch doctor --config configs/atlas.yaml"],
  async run({ args, rawArgs }) {
    const checks: Check[] = [...machineChecks(), await kernelCheck()];
    if (args.config !== undefined) checks.push(...(await configChecks(args.config, allValues("set", rawArgs))));
    if (args.json) process.stdout.write(`${JSON.stringify(checks, null, 2)}\n`);
    else for (const check of checks) process.stdout.write(`${checkLine(check)}\n`);
    const failed = checks.filter(({ ok }) => !ok).length;
    if (failed > 0) throw new ConfigError(`doctor: ${failed} of ${checks.length} checks need a fix`);
  },
});

function checkLine({ name, ok, found, fix }: Check): string {
  return `${ok ? "ok " : "fix"}  ${name.padEnd(16)} ${found}${fix === undefined ? "" : `\n     ${"".padEnd(16)} -> ${fix}`}`;
}

function machineChecks(): Check[] {
  const node = Number(process.versions.node.split(".")[0]);
  const memory = totalmem() / gibibyte;
  const disk = statfsSync(".");
  const free = (disk.bavail * disk.bsize) / gibibyte;
  const check = (name: string, ok: boolean, found: string, fix: string): Check => ({ name, ok, found, ...(ok ? {} : { fix }) });
  return [
    check("Node.js", node >= 20, process.versions.node, "install Node.js 20 or later"),
    check("cores", true, `${availableParallelism()}`, ""),
    check(
      "memory",
      memory >= 3,
      `${memory.toFixed(1)} GiB`,
      "the atlas study takes up to 3 GiB: set engine.prefixCacheMegabytes lower, or use a larger machine",
    ),
    check(
      "disk",
      free >= 1,
      `${free.toFixed(1)} GiB free here`,
      "a study takes up to 1 GiB: free space or choose a folder on another disk with --run",
    ),
  ];
}

async function kernelCheck(): Promise<Check> {
  const name = "onnxruntime";
  try {
    const { version, gigaflops } = await checkKernels();
    return { name, ok: true, found: `${version}, matrix product right, ${gigaflops.toFixed(0)} GFLOP/s on one thread` };
  } catch (error) {
    return {
      name,
      ok: false,
      found: (error as Error).message,
      fix: "run npm ci again on this machine (its processor and system must be ones that onnxruntime-node supports)",
    };
  }
}

async function configChecks(file: string, set: readonly string[]): Promise<Check[]> {
  let config: Config;
  try {
    config = loadConfig({ file, set });
  } catch (error) {
    return [{ name: "configuration", ok: false, found: (error as Error).message, fix: "correct the configuration" }];
  }
  const attempt = async (name: string, path: string | undefined, read: (path: string) => Promise<string>): Promise<Check[]> => {
    if (path === undefined) return [];
    if (!existsSync(path)) {
      const fix = name.endsWith(".model")
        ? `correct the path, or fetch it with  cosearch pull ${path}`
        : "correct the path, or make the file";
      return [{ name, ok: false, found: `${path} does not exist`, fix }];
    }
    try {
      return [{ name, ok: true, found: await read(path) }];
    } catch (error) {
      return [{ name, ok: false, found: (error as Error).message, fix: "correct the file" }];
    }
  };
  const questions = async (path: string) => `${(await loadQuestions(path)).length} questions`;
  const model = async (path: string) => {
    const { architecture, layers, hiddenSize, maxPositions } = await shapeAt(path);
    const { vocabularySize } = await loadRenderer(path);
    const weights = await (await import("../engine/embedded/hf-folder.ts")).checkWeights(path);
    return `${architecture}, ${(weights / 1e6).toFixed(1)} million weights, ${layers} layers of ${hiddenSize}, ${vocabularySize} tokens in the vocabulary, sequences up to ${maxPositions}`;
  };
  const checks = [
    { name: "configuration", ok: true, found: file },
    ...(await attempt("data.train", config.data.train, questions)),
    ...(await attempt("data.dev", config.data.dev, questions)),
    ...(await attempt("data.test", config.data.test, questions)),
    ...(await providerChecks(config)),
    await retrievalCheck(config.retrieval),
    ...(await attempt("agent.model", await localModel(config.agent.model), model)),
    ...(await attempt("ranker.model", await localModel(config.ranker.model), model)),
    ...(await serverCheck("agent", config.agent.endpoint)),
    ...(await serverCheck("ranker", config.ranker.endpoint)),
  ];
  const broken = checks.some(({ name, ok }) => !ok && parts.includes(name));
  return broken ? checks : [...checks, ...(await togetherChecks(config))];
}

/** Checks of what is looked at together. */
const parts = ["data.train", "retrieval", "agent.model", "ranker.model"];

/** Whether protocols, budgets and memory of parts that are well each go together; nothing where the agent is a server, or an index is yet to be built. */
async function togetherChecks(config: Config): Promise<Check[]> {
  const { agent, ranker } = config;
  const folder = config.retrieval.index.folder;
  const [agentModel, rankerModel] = [await localModel(agent.model), await localModel(ranker.model)];
  if (agentModel === undefined || (folder !== undefined && !existsSync(join(folder, indexFiles.manifest)))) return [];
  const name = "together";
  try {
    const speaker = async (path: string) => ({
      renderer: await loadRenderer(path),
      contextTokens: (await shapeAt(path)).maxPositions,
    });
    const main = await speaker(agentModel);
    const rankerSide = ranker.sharedBackbone ? main : rankerModel === undefined ? undefined : await speaker(rankerModel);
    const opened = await openRetriever(withoutRetries(config.retrieval));
    try {
      const trainQuestions = await loadQuestions(config.data.train);
      const settings = await preflight(config, { main, ranker: rankerSide, retriever: opened.retriever, trainQuestions });
      const memory = await planPolicies(config, "training");
      checkMemory(memory, config);
      return [...settings, ...memorySettings(memory)].map(([setting, found]) => ({ name: setting, ok: true, found }));
    } finally {
      await opened.close();
    }
  } catch (error) {
    return [{ name, ok: false, found: (error as Error).message, fix: "change the settings that it names" }];
  }
}

/** The shape of a model; loaded late: help and error messages need no native library. */
async function shapeAt(path: string): Promise<ModelShape> {
  return (await import("../engine/embedded/hf-folder.ts")).readModelShape(path);
}

/** Where a model lies, if it is a name of the Hub that was pulled; else the name or path as it is. */
async function localModel(nameOrPath: string | undefined): Promise<string | undefined> {
  return nameOrPath === undefined ? undefined : resolveModel(nameOrPath, { offline: true }).catch(() => nameOrPath);
}

/** Asks a server once what it serves. */
async function serverCheck(policy: "agent" | "ranker", endpoint: EndpointConfig | undefined): Promise<Check[]> {
  if (endpoint === undefined) return [];
  const name = `${policy}.endpoint`;
  try {
    const { engine, description } = await openServer(policy, { ...endpoint, retries: 0 });
    await engine.close();
    return [{ name, ok: true, found: description }];
  } catch (error) {
    return [{ name, ok: false, found: (error as Error).message, fix: `start the server, or correct ${name}` }];
  }
}

/** Whether providers other than the CPU can be used. */
async function providerChecks(config: Config): Promise<Check[]> {
  const { executionProviders } = config.engine;
  if (executionProviders.every((provider) => provider === "cpu")) return [];
  const name = "engine.executionProviders";
  try {
    await (await import("../onnx/providers.ts")).checkProviders(executionProviders);
    return [{ name, ok: true, found: executionProviders.join(", ") }];
  } catch (error) {
    return [{ name, ok: false, found: (error as Error).message, fix: "install what it names, or set it to [cpu]" }];
  }
}

/** Opens the first stage and searches once. An index that is yet to be built is not built for this. */
async function retrievalCheck(config: RetrievalConfig): Promise<Check> {
  const { folder } = config.index;
  const name = "retrieval";
  if (folder !== undefined && config.corpus !== undefined && !existsSync(join(folder, indexFiles.manifest))) {
    return { name, ok: true, found: `${folder} is not built yet: the first run does it, or  cosearch index build` };
  }
  try {
    const opened = await openRetriever(withoutRetries(config));
    try {
      await opened.retriever.search(["test"], 1);
      return { name, ok: true, found: opened.description };
    } finally {
      await opened.close();
    }
  } catch (error) {
    return { name, ok: false, found: (error as Error).message, fix: "correct the section retrieval, or what it names" };
  }
}

/** A server that fails is told at once. */
function withoutRetries(config: RetrievalConfig): RetrievalConfig {
  return { ...config, remote: { ...config.remote, retries: 0 } };
}
