import { setMaxListeners } from "node:events";
import { linkedAbort } from "../../endpoint/linked-abort.ts";
import { ConfigError, RunFolderError } from "../../errors.ts";
import { snapshotFolder, storageFolder } from "./cache-layout.ts";
import { defaultFiles, type FileChoice } from "./default-files.ts";
import { fetchFiles } from "./fetch-files.ts";
import { fileTests } from "./glob.ts";
import type { HubConnection } from "./hub-request.ts";
import { pullFromCache } from "./pull-from-cache.ts";
import type { Pulled, PullRequest } from "./pull-request.ts";
import { described, type Repository, type RepositoryFile, repositoryOf } from "./repository.ts";
import { type RepositoryContent, repositoryContent } from "./repository-files.ts";
import { hubSettings } from "./settings.ts";

export type { PullEvent, Pulled, PullRequest } from "./pull-request.ts";

/**
 * Fetches a repository of the Hub into the cache that all of the Hub's clients share. What is there already is not fetched again; a pull that
 * was stopped goes on where it was. The revision's reference is written last, so that it stands for a whole pull.
 * @throws ConfigError for a name, revision or pattern that fits nothing, a refusal of the Hub, or too small a disk; DataError for a wrong
 * hash; InfrastructureError when the Hub can't be reached; RunFolderError when the disk is full; the signal's reason.
 */
export async function pullRepository(request: PullRequest): Promise<Pulled> {
  const settings = await hubSettings(request.environment);
  const repository = repositoryOf(request.kind, request.name, request.revision);
  if (request.offline ?? settings.offline) return pullFromCache(settings, repository, request.files);
  const { onProgress = () => {}, backoffMilliseconds = 1000 } = request;
  // Aborted from outside, and when one of the downloads fails, which ends the others.
  const { controller, unlink } = linkedAbort([request.signal]);
  setMaxListeners(0, controller.signal);
  const connection: HubConnection = {
    settings,
    repository,
    signal: controller.signal,
    onRetry: (reason) => onProgress({ kind: "notice", words: `${reason}; trying again` }),
    backoffMilliseconds,
  };
  try {
    const content = await repositoryContent(connection);
    const choice = chosenFiles(repository, content, request.files);
    await fetchFiles(connection, controller, content, choice, onProgress);
    const folder = snapshotFolder(storageFolder(settings.cache, repository), content.commit);
    return { folder, revision: content.commit, ...choice };
  } catch (error) {
    controller.abort();
    request.signal?.throwIfAborted();
    throw isFull(error)
      ? new RunFolderError(`the disk of ${settings.cache} is full: free space, then run the same again; what has come is kept`, {
          cause: error,
        })
      : error;
  } finally {
    unlink();
  }
}

/** @throws ConfigError when a pattern fits no file. */
function chosenFiles(repository: Repository, { files, architectures }: RepositoryContent, wanted: PullRequest["files"]): FileChoice {
  const tests = fileTests(wanted);
  if (wanted === undefined || tests === undefined) return defaultFiles(repository, files, architectures);
  for (const [index, test] of tests.entries()) {
    if (typeof wanted === "function" || files.some(({ path }) => test(path))) continue;
    const some = files.slice(0, 20).map(({ path }) => path);
    throw new ConfigError(
      `no file of ${described(repository)} fits ${JSON.stringify(wanted[index])}; it holds ${some.join(", ")}${files.length > 20 ? ", ..." : ""}`,
    );
  }
  const isWanted = ({ path }: RepositoryFile) => tests.some((test) => test(path));
  return { files: files.filter(isWanted), leftOut: files.filter((file) => !isWanted(file)) };
}

function isFull(error: unknown): boolean {
  return ["ENOSPC", "EDQUOT"].includes((error as NodeJS.ErrnoException).code ?? "");
}
