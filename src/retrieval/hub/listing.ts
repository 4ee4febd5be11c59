import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { readIfPresent, writeAtomically } from "../../files/atomic-file.ts";
import type { RepositoryFile } from "./repository.ts";

/**
 * What a commit holds, noted beside its snapshot so that without the network one can tell a whole pull from a part. It is not
 * huggingface_hub's own note (`trees/`): by that one, Python refuses every snapshot that leaves a file out.
 */
const listingSchema = z.array(z.object({ path: z.string(), size: z.number(), hash: z.string() }));
const treeSchema = z.object({
  files: z.record(z.string(), z.object({ size: z.number(), blob_id: z.string(), lfs_sha256: z.string().nullish() })),
});

function listingFile(storage: string, commit: string): string {
  return join(storage, "cosearch", `${commit}.json`);
}

export async function writeListing(storage: string, commit: string, files: readonly RepositoryFile[]): Promise<void> {
  const file = listingFile(storage, commit);
  await mkdir(dirname(file), { recursive: true });
  await writeAtomically(file, JSON.stringify(files));
}

/** All files of a commit, by our note or huggingface_hub's; undefined when neither is there or can be read. */
export async function readListing(storage: string, commit: string): Promise<RepositoryFile[] | undefined> {
  const own = listingSchema.safeParse(parsed(await readIfPresent(listingFile(storage, commit))));
  if (own.success) return own.data;
  const tree = treeSchema.safeParse(parsed(await readIfPresent(join(storage, "trees", `${commit}.json`))));
  if (!tree.success) return undefined;
  return Object.entries(tree.data.files).map(([path, { size, blob_id, lfs_sha256 }]) => ({ path, size, hash: lfs_sha256 ?? blob_id }));
}

function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    return undefined;
  }
}
