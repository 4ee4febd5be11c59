import { join } from "node:path";
import { ConfigError } from "../../errors.ts";
import { cachedCommit, sizeOf, snapshotFiles, snapshotFolder, storageFolder } from "./cache-layout.ts";
import { defaultFiles, holdWeights } from "./default-files.ts";
import { fileTests } from "./glob.ts";
import { readListing } from "./listing.ts";
import type { Pulled, PullRequest } from "./pull-request.ts";
import { described, type Repository, type RepositoryFile } from "./repository.ts";
import type { HubSettings } from "./settings.ts";

/**
 * The same as a pull, without the network.
 * @throws ConfigError when the cache lacks the repository or a wanted file.
 */
export async function pullFromCache(settings: HubSettings, repository: Repository, wanted: PullRequest["files"]): Promise<Pulled> {
  const storage = storageFolder(settings.cache, repository);
  const what = described(repository);
  const commit = await cachedCommit(storage, repository.revision);
  const advice = "pull it with the network (without --offline and HF_HUB_OFFLINE)";
  if (commit === undefined)
    throw new ConfigError(`${what} is not in the cache (${storage}) and the Hub is not asked when offline: ${advice}`);
  const folder = snapshotFolder(storage, commit);
  const listing = await readListing(storage, commit);
  const present = await snapshotFiles(folder);
  const tests = fileTests(wanted);
  const isWanted = (path: string) => tests === undefined || tests.some((test) => test(path));
  if (listing === undefined) {
    // Another client's snapshot: what it lacks can't be told, except where nothing fits.
    const files = await Promise.all(
      present.filter(isWanted).map(async (path) => ({ path, size: (await sizeOf(join(folder, path))) ?? 0, hash: "" })),
    );
    if (files.length === 0) throw new ConfigError(`${what}: no wanted file is in the cache (${folder}): ${advice}`);
    return { folder, revision: commit, files, leftOut: [] };
  }
  // Which of its weights a model is used with was decided when it was pulled.
  const isDecided = (path: string) => tests === undefined && repository.kind === "model" && holdWeights([path]) && holdWeights(present);
  const choice = tests === undefined ? defaultFiles(repository, listing, undefined).files : listing.filter(({ path }) => isWanted(path));
  const isPresent = new Set(present);
  const missing = choice.filter(({ path }) => !isPresent.has(path) && !isDecided(path));
  if (missing.length > 0 || choice.length === 0) {
    const names = missing.map(({ path }) => path).join(", ") || "a file that fits";
    throw new ConfigError(`${what}: the cache (${folder}) lacks ${names}: ${advice}`);
  }
  const isGiven = ({ path }: RepositoryFile) => isPresent.has(path) && isWanted(path);
  return { folder, revision: commit, files: listing.filter(isGiven), leftOut: listing.filter((file) => !isGiven(file)) };
}
