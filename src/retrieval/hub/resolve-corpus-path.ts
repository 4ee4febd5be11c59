import { join } from "node:path";
import { ConfigError } from "../../errors.ts";
import { cachedCommit, snapshotFiles, snapshotFolder, storageFolder } from "./cache-layout.ts";
import { globMatcher, isGlob } from "./glob.ts";
import { readListing } from "./listing.ts";
import { pullRepository } from "./pull.ts";
import type { ResolveOptions } from "./pull-request.ts";
import { isRepositoryName, type Repository, repositoryOf } from "./repository.ts";
import { hubSettings } from "./settings.ts";

const scheme = "hf://";
const form = "expected hf://datasets/OWNER/NAME[@REVISION][/PATH], where PATH is a file, a folder or a pattern";

/**
 * The paths behind a corpus path: itself for a local one; for `hf://datasets/OWNER/NAME[@REVISION]/PATH` the file or folder, or all files that
 * fit a pattern (`*` stays within a folder, `**` crosses them), in order of their names. What the cache holds whole is used without any request;
 * else it is pulled.
 * @throws ConfigError for a malformed address or a path that the data set lacks; what `pullRepository` throws.
 */
export async function resolveCorpusPath(path: string, options: ResolveOptions = {}): Promise<string[]> {
  if (!path.startsWith(scheme)) return [path];
  const { repository, inside } = parsed(path);
  const fits = inside === "" ? undefined : insideTest(inside);
  const cached = await fromCache(repository, inside, fits, options);
  const { folder, files } = cached ?? (await pulled(path, repository, fits, options));
  if (!isGlob(inside)) return [join(folder, inside)];
  return files.map((file) => join(folder, file)).sort();
}

interface Found {
  readonly folder: string;
  readonly files: readonly string[];
}

function parsed(path: string): { readonly repository: Repository; readonly inside: string } {
  const match = /^hf:\/\/datasets\/([^/@]+\/[^/@]+)(?:@(refs\/(?:pr|convert)\/[^/]+|[^/]+))?(?:\/(.*))?$/.exec(path);
  if (match === null || !isRepositoryName(match[1] as string)) throw new ConfigError(`${JSON.stringify(path)}: ${form}`);
  const inside = (match[3] ?? "").replace(/\/+$/, "");
  if (inside.split("/").some((part) => part === ".." || part === ".") || inside.includes("//")) {
    throw new ConfigError(`${JSON.stringify(path)}: leave . and .. out; ${form}`);
  }
  const revision = match[2]?.replaceAll(/%2f/gi, "/");
  return { repository: repositoryOf("dataset", match[1] as string, revision), inside };
}

function insideTest(inside: string): (path: string) => boolean {
  if (isGlob(inside)) return globMatcher(inside, { across: false });
  return (path) => path === inside || path.startsWith(`${inside}/`);
}

/** What the cache holds, where it is sure to be all. */
async function fromCache(
  repository: Repository,
  inside: string,
  fits: ((path: string) => boolean) | undefined,
  { environment }: ResolveOptions,
): Promise<Found | undefined> {
  const storage = storageFolder((await hubSettings(environment)).cache, repository);
  const commit = await cachedCommit(storage, repository.revision);
  if (commit === undefined) return undefined;
  const folder = snapshotFolder(storage, commit);
  const present = (await snapshotFiles(folder)).filter((file) => fits?.(file) ?? true);
  if (present.includes(inside)) return { folder, files: present };
  const listed = (await readListing(storage, commit))?.map(({ path }) => path);
  const wanted = listed?.filter((file) => fits?.(file) ?? file !== ".gitattributes") ?? [];
  return wanted.length > 0 && wanted.every((file) => present.includes(file)) ? { folder, files: wanted } : undefined;
}

async function pulled(
  path: string,
  repository: Repository,
  fits: ((path: string) => boolean) | undefined,
  options: ResolveOptions,
): Promise<Found> {
  const { folder, files } = await pullRepository({ ...options, ...repository, files: fits });
  if (files.length === 0) throw new ConfigError(`${JSON.stringify(path)}: the data set holds no such file: correct the path`);
  return { folder, files: files.map((file) => file.path) };
}
