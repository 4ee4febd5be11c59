/**
 * YAML file + command line -> checked configuration. Relative paths given with `--set` are meant relative to the current folder. The result
 * holds absolute paths.
 */
import type { z } from "zod";
import { type Config, configSchema, retrievalConfigSchema } from "../config.ts";
import { ConfigError } from "../errors.ts";
import { type ConfigFile, decides, readConfigFile } from "./config-file.ts";
import { isKnown } from "./config-keys.ts";
import { configProblems } from "./config-problems.ts";
import { suggestion } from "./nearest.ts";
import { applyOverrides, type Override, readValue, setOverrides } from "./overrides.ts";

export type { Override } from "./overrides.ts";

/** A file and what the command line changes in it. */
export interface ConfigSource {
  /** The YAML file. */
  readonly file: string;
  /** `--set` entries, `dotted.key=value`; the value is read as YAML (as it is typed where the key holds text); null takes the key away. Later ones win. */
  readonly set?: readonly string[];
  /** `--seed`, as typed. */
  readonly seed?: string;
  /** `--steps`, as typed. */
  readonly steps?: string;
}

/** Where the settings of `cosearch index` and `cosearch serve retrieval` come from. */
export interface RetrievalConfigSource {
  /** A YAML file of which only the sections retrieval and serving are read. Absent: everything is at its default. */
  readonly file?: string;
  /** As in {@link ConfigSource}. */
  readonly set?: readonly string[];
  /** What the command's own flags say; they win. */
  readonly overrides?: readonly Override[];
}

/** The checked sections retrieval and serving. */
export type RetrievalAndServing = z.infer<typeof retrievalConfigSchema>;

/**
 * Reads, overrides and checks a configuration.
 * @throws ConfigError naming the file and line (or flag), the dotted key, the value and what is expected.
 */
export function loadConfig(source: ConfigSource): Config {
  return check(configSchema, readConfigFile(source.file), source.file, [
    ...setOverrides(source.set),
    ...(source.seed === undefined ? [] : [{ flag: "--seed", key: "seed", value: readValue(source.seed) }]),
    ...(source.steps === undefined ? [] : [{ flag: "--steps", key: "training.steps", value: readValue(source.steps) }]),
  ]);
}

/** The same for the sections retrieval and serving; the others are let be, as long as they are sections that a configuration may have. */
export function loadRetrievalConfig({ file, set, overrides = [] }: RetrievalConfigSource): RetrievalAndServing {
  const changes = [...setOverrides(set), ...overrides];
  for (const { flag, key } of changes) {
    if (isKnown(key) && !/^(retrieval|serving)(\.|$)/.test(key)) {
      throw new ConfigError(`${flag}: only keys of the sections retrieval and serving count here`);
    }
  }
  const written = file === undefined ? noFile() : readConfigFile(file);
  const sections = Object.keys(configSchema.shape);
  for (const name of Object.keys(written.tree)) {
    if (!sections.includes(name)) {
      const meant = suggestion(name, sections) || `; known here: ${sections.join(", ")}`;
      throw new ConfigError(`${written.placeOf(name)}: ${name}: unknown key${meant}`);
    }
  }
  return check(retrievalConfigSchema, written, file ?? "the command line", changes);
}

const noFile = (): ConfigFile => ({ tree: {}, placeOf: () => undefined, inheritedFrom: () => undefined });

function check<Checked>(schema: z.ZodType<Checked>, written: ConfigFile, file: string, changes: readonly Override[]): Checked {
  const { tree, placeOf } = written;
  const origins = applyOverrides(tree, changes);
  const checked = schema.safeParse(tree);
  if (checked.success) return checked.data;
  const problems = configProblems(checked.error.issues, tree).map(({ key, message, involved = [] }) => {
    const hints = removalHints(involved, written, file, origins);
    return `${origins.get(key) ?? placeOf(key) ?? file}: ${key}: ${message}${hints}`;
  });
  throw new ConfigError(problems.join("\n"));
}

/** Of settings that contradict each other: which come from a file below the one (or the flag) that says otherwise, and how to be rid of them. */
function removalHints(
  involved: readonly string[],
  { tree, placeOf, inheritedFrom }: ConfigFile,
  file: string,
  flags: ReadonlyMap<string, string>,
): string {
  const byFlag = involved.some((key) => flags.has(key));
  return involved
    .filter((key) => decides(tree, key) && !flags.has(key))
    .map((key) => {
      const base = inheritedFrom(key);
      if (base === undefined && !byFlag) return "";
      const inFile = base === undefined ? "" : `"${key.split(".").at(-1)}: null" in ${file}, or `;
      return ` (${key} comes from ${base ?? placeOf(key)}: ${inFile}--set ${key}=null removes it)`;
    })
    .join("");
}

/** The default place of a run: `runs/<name>-<system>-seed<seed>`. */
export function defaultRunFolder(config: Config): string {
  return `runs/${config.name}-${config.system}-seed${config.seed}`;
}
