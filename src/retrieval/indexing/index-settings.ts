/** What a configuration asks of an index, what an index is, and whether the two agree. */
import type { EmbedderConfig, RetrievalConfig } from "../../config.ts";
import { ConfigError } from "../../errors.ts";
import { isRecord } from "../../json-values.ts";
import type { EmbedderIdentity } from "../embedding/embedder.ts";
import type { EmbedderSettings, IndexManifest, VectorSettings } from "./manifest.ts";

/** The settings of an index, no default left open. */
export interface IndexSettings {
  readonly kind: "dense" | "bm25" | "hybrid";
  /** Absent from an index of kind bm25; so is `vectors`. */
  readonly embedder?: EmbedderSettings;
  readonly vectors?: VectorSettings;
}

/** The settings that a new index of this configuration has. */
export function newIndexSettings(config: RetrievalConfig): IndexSettings {
  const { kind = "dense", index } = config;
  if (kind === "bm25") return { kind };
  const vectors = { kind: index.kind ?? ("exact" as const), metric: index.metric ?? ("inner-product" as const) };
  if (vectors.kind === "exact") {
    if (index.location !== undefined) {
      throw new ConfigError("retrieval.index.location is for LanceDB: choose retrieval.index.kind ivf-pq, ivf-rq or hnsw");
    }
    return { kind, embedder: embedderSettings(config.embedder), vectors };
  }
  const { apiKeyVariable, region, hostOverride, location, partitions, subVectors, bits, probes, refine, ef } = index;
  const place = location === undefined ? {} : { location, apiKeyVariable, region, hostOverride };
  return {
    kind,
    embedder: embedderSettings(config.embedder),
    vectors: given({ ...vectors, ...place, partitions, subVectors, bits, probes, refine, ef }),
  };
}

/** What decides the content of an index: its settings without where services are, what keys are called and how hard a search looks. */
export function contentSettings({ kind, embedder, vectors }: IndexSettings): Record<string, unknown> {
  if (embedder === undefined || vectors === undefined) return { kind };
  const { url: _url, apiKeyVariable: _key, ...encoder } = embedder;
  const { apiKeyVariable: _name, region: _region, hostOverride: _host, probes: _probes, refine: _refine, ef: _ef, ...layout } = vectors;
  return { kind, embedder: encoder, vectors: layout };
}

function embedderSettings(config: EmbedderConfig): EmbedderSettings {
  const { kind = "hashed", dimensions = 384, idfPower = 1, model, file, url, apiKeyVariable } = config;
  if (kind === "hashed") return { kind, dimensions, idfPower };
  const { queryPrefix, documentPrefix, pooling, normalize, maxTokens } = config;
  const shared = { kind, model, queryPrefix, documentPrefix, normalize };
  return given(kind === "onnx" ? { ...shared, file, pooling, maxTokens } : { ...shared, url, apiKeyVariable });
}

/**
 * The settings with which a finished index is opened: its own, with what a configuration may decide anew (where things are, how hard a
 * search looks, and to use only one side of a hybrid index). Settings that the configuration leaves out are the index's.
 * @throws ConfigError naming both sides of every contradiction.
 */
export function openingSettings(config: RetrievalConfig, manifest: IndexManifest, folder: string): IndexSettings {
  const problems: string[] = [];
  const compare = (key: string, asked: unknown, found: unknown) => {
    if (asked !== undefined && asked !== found)
      problems.push(`retrieval.${key}: ${shown(asked)} is asked for, the index has ${shown(found)}`);
  };
  const kind = config.kind ?? manifest.kind;
  if (kind !== manifest.kind && manifest.kind !== "hybrid") compare("kind", kind, manifest.kind);
  const { embedder, vectors } = manifest;
  const { index, embedder: asked } = config;
  if (kind !== "bm25" && embedder !== undefined && vectors !== undefined) {
    compare("embedder.kind", asked.kind, embedder.settings.kind);
    if (embedder.settings.kind === "hashed") {
      for (const key of ["dimensions", "idfPower"] as const) compare(`embedder.${key}`, asked[key], embedder.settings[key]);
    }
    for (const key of ["kind", "metric"] as const) compare(`index.${key}`, index[key], vectors[key]);
    if (vectors.kind !== "exact") {
      for (const key of ["partitions", "subVectors", "bits"] as const) {
        if (vectors[key] !== undefined) compare(`index.${key}`, index[key], vectors[key]);
      }
    }
  }
  if (problems.length > 0) throw mismatch(folder, problems);
  if (kind === "bm25" || embedder === undefined || vectors === undefined) return { kind: "bm25" };
  const { dimensions: _, ...stored } = vectors;
  const { location, region, hostOverride, probes, refine, ef } = index;
  const apiKeyVariable = location === undefined ? undefined : index.apiKeyVariable;
  const { model, file, url, queryPrefix, documentPrefix, pooling, normalize, maxTokens } = asked;
  return {
    kind,
    embedder: { ...embedder.settings, ...given({ model, file, url, queryPrefix, documentPrefix, pooling, normalize, maxTokens }) },
    vectors: { ...stored, ...given({ location, region, hostOverride, apiKeyVariable, probes, refine, ef }) },
  };
}

/** The configuration of an embedder: what the index says, and what belongs to this process (threads, batches, time limits). */
export function embedderConfigOf(settings: EmbedderSettings, config: EmbedderConfig): EmbedderConfig {
  return { ...config, ...settings };
}

/** @throws ConfigError when the vectors of an index may not be compared with those of this embedder, naming both sides. */
export function checkIdentity(folder: string, stored: EmbedderIdentity, opened: EmbedderIdentity): void {
  const sameBits = stored.fingerprint !== undefined && stored.fingerprint === opened.fingerprint;
  const keys = new Set([...Object.keys(stored), ...Object.keys(opened)]) as Set<keyof EmbedderIdentity>;
  const problems = [...keys].flatMap((key) => {
    // The same weights under another name are the same model; weights of which one side knows nothing can't be compared.
    if (key === "model" && sameBits) return [];
    if (key === "fingerprint" && (stored.fingerprint === undefined || opened.fingerprint === undefined)) return [];
    if (stored[key] === opened[key]) return [];
    return [`embedder ${key}: the index has ${shown(stored[key])}, the embedder ${shown(opened[key])}`];
  });
  if (problems.length > 0) throw mismatch(folder, problems);
}

/** Every leaf in which two plain values differ. */
export function settingDifferences(before: unknown, now: unknown, path = ""): string[] {
  if (isRecord(before) && isRecord(now)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(now)])].sort();
    return keys.flatMap((key) => settingDifferences(before[key], now[key], path === "" ? key : `${path}.${key}`));
  }
  return JSON.stringify(before) === JSON.stringify(now) ? [] : [`${path}: ${shown(before)} before, ${shown(now)} now`];
}

function mismatch(folder: string, problems: readonly string[]): ConfigError {
  const list = problems.map((problem) => `\n  ${problem}`).join("");
  return new ConfigError(
    `the index in ${folder} is not the one that is asked for:${list}\nleave these settings out to take the index as it is, or build it again (cosearch index build --fresh)`,
  );
}

function shown(value: unknown): string {
  return value === undefined ? "none" : typeof value === "string" && !/^$|\s/.test(value) ? value : JSON.stringify(value);
}

/** Without the entries that are undefined. */
function given<Value extends object>(value: Value): Value {
  return Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== undefined)) as Value;
}
