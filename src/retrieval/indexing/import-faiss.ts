import { resolve } from "node:path";
import type { RetrievalConfig } from "../../config.ts";
import { ConfigError, DataError } from "../../errors.ts";
import type { DocumentStore } from "../corpus/document-store.ts";
import type { Embedder } from "../embedding/embedder.ts";
import { type BuildIndexOptions, buildIndexFrom, type ImportedVectors } from "./build-index.ts";
import { corpusSources } from "./corpus-sources.ts";
import { type FaissFlat, openFaissFlat } from "./faiss-file.ts";
import type { IndexManifest } from "./manifest.ts";
import { compareWithStored, leastCosine, spotRows, unlikeLines } from "./spot-check.ts";

/** What is imported, and how. */
export interface ImportFaissOptions extends BuildIndexOptions {
  /** An `IndexFlatIP` or `IndexFlatL2` file, or its pieces (`part_*`, joined in numeric order), or the folder that holds them. */
  readonly faiss: readonly string[];
  /** Embed a few passages and compare. Default true. */
  readonly check?: boolean;
}

/** Passages embedded again. */
const spotChecks = 8;

/**
 * Streams the vectors of a FAISS file into an index folder beside their corpus, as `buildIndex` does with vectors that it makes itself: resumable,
 * the manifest last. The metric is the file's. Which model the vectors are of can't be read from the file: the configuration must
 * tell it, and a few passages are embedded to see whether it is so.
 * @throws ConfigError when counts, dimensions, metric or spot checks don't agree, naming both sides; DataError when the file is none.
 */
export async function importFaiss({ faiss, check = true, ...options }: ImportFaissOptions): Promise<IndexManifest> {
  const flat = await openFaissFlat(faiss);
  try {
    const config = withMetric(options.config, flat);
    return await buildIndexFrom(
      { ...options, config },
      {
        ...(await importedVectors(flat, check && options.force !== true)),
        arguments: ["index", "import-faiss", ...faiss.flatMap((path) => ["--faiss", resolve(path)]), ...(check ? [] : ["--no-check"])],
      },
    );
  } finally {
    await flat.close();
  }
}

function withMetric(config: RetrievalConfig, { metric, files }: FaissFlat): RetrievalConfig {
  const { kind, index, embedder } = config;
  if (kind === "bm25") throw new ConfigError("retrieval.kind: bm25 has no vectors to import: leave it out, or choose dense or hybrid");
  if (embedder.kind === undefined || embedder.kind === "hashed") {
    throw new ConfigError(
      "retrieval.embedder: say which model the vectors were made with, e.g. --embedder onnx --model intfloat/e5-base-v2: queries must be embedded by the same one",
    );
  }
  if (index.metric !== undefined && index.metric !== metric) {
    throw new ConfigError(`retrieval.index.metric: ${index.metric} is asked for, ${files.join(", ")} has ${metric}: leave it out`);
  }
  return { ...config, index: { ...index, metric } };
}

async function importedVectors(flat: FaissFlat, checked: boolean): Promise<Omit<ImportedVectors, "arguments">> {
  const { rows, dimensions, metric } = flat;
  const name = flat.files.join(", ");
  return {
    rows,
    dimensions,
    metric,
    sources: await corpusSources(flat.files),
    read: (from, to) => flat.read(from, to),
    checkDimensions(embedder) {
      if (embedder.dimensions === dimensions) return;
      throw new ConfigError(
        `${name} has ${dimensions} dimensions, the embedder ${embedder.identity.model} has ${embedder.dimensions}: name the model it was made with`,
      );
    },
    async check(store, embedder) {
      if (store.count !== rows) {
        throw new DataError(
          `holds ${rows} vectors, the corpus ${store.count} passages: give the corpus that the index was made from, whole and in its order`,
          { file: name },
        );
      }
      if (checked) await spotCheck(store, embedder, flat, name);
    },
  };
}

async function spotCheck(store: DocumentStore, embedder: Embedder, flat: FaissFlat, name: string): Promise<void> {
  const stored = new Map<number, Float32Array>();
  for (const row of spotRows(store.count, spotChecks)) {
    for await (const vector of flat.read(row, row + 1)) stored.set(row, vector.slice());
  }
  const unlike = unlikeLines(await compareWithStored(store, embedder, stored));
  if (unlike.length === 0) return;
  throw new ConfigError(
    `the vectors of ${name} are not those that ${embedder.identity.model} makes of these passages (${unlike.length} of ${stored.size} have a cosine below ${leastCosine}):${unlike
      .map((line) => `\n  ${line}`)
      .join(
        "",
      )}\nname the model, prefixes and pooling they were made with and the corpus in its order, or import all the same with --no-check`,
  );
}
