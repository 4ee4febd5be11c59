/** Where an index folder keeps its vectors, by the kind of its index. LanceDB is loaded only when an index needs it. */
import { join } from "node:path";
import { openExactIndex, openExactWriter } from "./exact-vectors.ts";
import { indexFiles } from "./index-folder.ts";
import type { SizedVectorSettings } from "./manifest.ts";
import type { VectorIndex, VectorWriter } from "./vector-index.ts";

/** Opens the folder's vectors for writing; see {@link VectorWriter} for what a killed build left. */
export async function openVectorWriter(folder: string, vectors: SizedVectorSettings): Promise<VectorWriter> {
  if (vectors.kind === "exact") return openExactWriter(join(folder, indexFiles.vectors), vectors.dimensions);
  return (await import("./lance-index.ts")).openLanceWriter(vectors, folder);
}

/** Opens the folder's vectors for searching. */
export async function openVectorIndex(folder: string, vectors: SizedVectorSettings): Promise<VectorIndex> {
  const { kind, dimensions, metric } = vectors;
  if (kind === "exact") return openExactIndex(join(folder, indexFiles.vectors), { dimensions, metric });
  return (await import("./lance-index.ts")).openLanceIndex(vectors, folder);
}
