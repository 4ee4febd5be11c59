import { join } from "node:path";
import { z } from "zod";
import { metrics, vectorIndexKinds } from "../../config.ts";
import { ConfigError, DataError } from "../../errors.ts";
import { readIfPresent } from "../../files/atomic-file.ts";
import { writeJsonAtomically } from "../../files/json-file.ts";
import { indexFiles } from "./index-folder.ts";

/** Version of the index folder's layout. */
export const indexFormatVersion = 1;

const count = z.int().min(0);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

const embedderIdentity = z.strictObject({
  kind: z.enum(["hashed", "onnx", "endpoint", "unknown"]),
  model: z.string(),
  dimensions: z.int().min(1),
  queryPrefix: z.string(),
  documentPrefix: z.string(),
  pooling: z.enum(["mean", "cls", "last", "none"]).optional(),
  normalize: z.boolean(),
  maxTokens: z.int().optional(),
  fingerprint: z.string().optional(),
});

const embedderSettings = z.strictObject({
  kind: z.enum(["hashed", "onnx", "endpoint"]),
  model: z.string().optional(),
  file: z.string().optional(),
  url: z.string().optional(),
  apiKeyVariable: z.string().optional(),
  dimensions: z.int().optional(),
  idfPower: z.number().optional(),
  queryPrefix: z.string().optional(),
  documentPrefix: z.string().optional(),
  pooling: z.enum(["mean", "cls", "last"]).optional(),
  normalize: z.boolean().optional(),
  maxTokens: z.int().optional(),
});

const vectorSettings = z.strictObject({
  kind: z.enum(vectorIndexKinds),
  metric: z.enum(metrics),
  location: z.string().optional(),
  apiKeyVariable: z.string().optional(),
  region: z.string().optional(),
  hostOverride: z.string().optional(),
  partitions: z.int().optional(),
  subVectors: z.int().optional(),
  bits: z.int().optional(),
  probes: z.int().optional(),
  refine: z.int().optional(),
  ef: z.int().optional(),
});

const manifestSchema = z.strictObject({
  formatVersion: z.literal(indexFormatVersion),
  /** The CoSearch that wrote it. */
  cosearch: z.string(),
  kind: z.enum(["dense", "bm25", "hybrid"]),
  /** Absent from an index of kind bm25; so is `vectors`. */
  embedder: z.strictObject({ identity: embedderIdentity, settings: embedderSettings }).optional(),
  vectors: vectorSettings.extend({ dimensions: z.int().min(1) }).optional(),
  bm25: z.strictObject({ analyserVersion: z.int() }).optional(),
  documents: z.strictObject({ count, idsSha256: sha256, documentsSha256: sha256, skipped: count }),
  /** Bytes of the folder's files, LanceDB's excepted. */
  files: z.record(z.string(), count),
  /** What it was built from: base names and bytes on the disk. */
  sources: z.array(z.strictObject({ name: z.string(), bytes: count })),
});

/** manifest.json: what an index is. Written last: an index folder without it isn't finished. */
export type IndexManifest = z.infer<typeof manifestSchema>;
/** What is needed to open an index's embedder again: no keys, only names of variables that hold them. */
export type EmbedderSettings = z.infer<typeof embedderSettings>;
/** How and where an index keeps its vectors. */
export type VectorSettings = z.infer<typeof vectorSettings>;
/** Vector settings of a certain length. */
export type SizedVectorSettings = VectorSettings & { readonly dimensions: number };

/**
 * The manifest of an index folder; undefined where there is none.
 * @throws DataError naming what is wrong with it; ConfigError when a newer CoSearch wrote it.
 */
export async function readManifest(folder: string): Promise<IndexManifest | undefined> {
  const file = join(folder, indexFiles.manifest);
  const text = await readIfPresent(file);
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw damaged(file, (error as Error).message, error);
  }
  const version = (value as { formatVersion?: unknown } | null)?.formatVersion;
  if (typeof version === "number" && version > indexFormatVersion) {
    throw new ConfigError(
      `${folder} has index format ${version}, this CoSearch reads format ${indexFormatVersion}: update CoSearch, or build the index again`,
    );
  }
  const checked = manifestSchema.safeParse(value);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  throw damaged(file, `${issue?.path.join(".") || "the whole"}: ${issue?.message}`);
}

/** Writes manifest.json, as one act. */
export async function writeManifest(folder: string, manifest: IndexManifest): Promise<void> {
  await writeJsonAtomically(join(folder, indexFiles.manifest), manifestSchema.parse(manifest));
}

function damaged(file: string, reason: string, cause?: unknown): DataError {
  return new DataError(`is no manifest of an index (${reason}): restore it, or build the index again with --fresh`, { file }, { cause });
}
