/** The command line of a build, for whoever wants to go on with it. */
import type { RetrievalConfig } from "../../config.ts";
import { corpusPaths } from "../corpus/corpus.ts";
import type { BuildState } from "./build-progress.ts";
import type { IndexSettings } from "./index-settings.ts";

/** Keys of the retrieval section that have a flag of their own. */
const flagOf: Readonly<Record<string, string>> = {
  kind: "--kind",
  format: "--format",
  "embedder.kind": "--embedder",
  "embedder.model": "--model",
  "embedder.url": "--url",
  "index.kind": "--vectors",
};

/** What a new index has where nothing is said. */
const defaults: Readonly<Record<string, unknown>> = {
  kind: "dense",
  format: "auto",
  passageWords: 100,
  "embedder.kind": "hashed",
  "embedder.dimensions": 384,
  "embedder.idfPower": 1,
  "index.kind": "exact",
  "index.metric": "inner-product",
};

/** Arguments of `cosearch` that begin this build, the index folder left out. `start`: the command, with what is its alone. */
export function buildArguments(
  config: RetrievalConfig,
  { kind, embedder, vectors }: IndexSettings,
  start: readonly string[] = ["index", "build"],
): string[] {
  const { format, passageWords, skipBad } = config;
  const below = (section: string, settings: object = {}) =>
    Object.entries(settings).map(([key, value]): [string, unknown] => [`${section}.${key}`, value]);
  const entries: [string, unknown][] = [
    ["kind", kind],
    ["format", format],
    ["passageWords", passageWords],
    ...below("embedder", embedder),
    ...below("index", vectors),
  ];
  const told = entries.filter(([key, value]) => value !== undefined && value !== defaults[key]);
  return [
    ...start,
    ...corpusPaths(config).flatMap((path) => ["--corpus", path]),
    ...told.flatMap(([key, value]) => {
      const flag = flagOf[key];
      return flag === undefined ? ["--set", `retrieval.${key}=${String(value)}`] : [flag, String(value)];
    }),
    ...(skipBad ? ["--skip-bad"] : []),
  ];
}

/** The command that goes on with the unfinished build of a folder, as a shell takes it. */
export function goOnCommand(folder: string, state: BuildState): string {
  if (state.arguments === undefined) return `cosearch index build --index ${quoted(folder)}  and the settings it began with`;
  return ["cosearch", ...state.arguments, "--index", folder].map(quoted).join(" ");
}

/** An argument as a shell takes it. */
export function quoted(argument: string): string {
  return /^[\w./:=@%+,-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}
