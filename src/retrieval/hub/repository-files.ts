import { ConfigError, DataError } from "../../errors.ts";
import { commitPattern } from "./cache-layout.ts";
import type { Architectures } from "./default-files.ts";
import { type HubConnection, patientFetch } from "./hub-request.ts";
import { described, type RepositoryFile } from "./repository.ts";

/** What the Hub tells of a repository at a revision. */
export interface RepositoryContent {
  readonly commit: string;
  readonly architectures: Architectures;
  readonly files: readonly RepositoryFile[];
}

/**
 * Asks the Hub what a revision holds.
 * @throws what `withRetries` throws; DataError when the Hub's answer can't be used.
 */
export async function repositoryContent(connection: HubConnection): Promise<RepositoryContent> {
  const { listFiles } = await import("@huggingface/hub");
  const { repository, settings } = connection;
  const access = { hubUrl: settings.endpoint, fetch: patientFetch(connection) };
  const place = { file: `${settings.endpoint}: ${described(repository)}` };
  try {
    const { sha, architectures } = await information(connection);
    if (!commitPattern.test(sha)) throw new DataError(`the Hub named no commit for the revision, but ${JSON.stringify(sha)}`, place);
    const files: RepositoryFile[] = [];
    for await (const entry of listFiles({
      ...access,
      repo: { type: repository.kind, name: repository.name },
      revision: sha,
      recursive: true,
    })) {
      if (entry.type !== "file") continue;
      const hash = entry.lfs?.oid ?? entry.oid ?? "";
      if (!isInside(entry.path)) throw new DataError(`the file name ${JSON.stringify(entry.path)} leads out of the folder: refused`, place);
      if (!/^([0-9a-f]{40}|[0-9a-f]{64})$/.test(hash))
        throw new DataError(`the Hub gives no usable hash of ${entry.path} (${hash})`, place);
      files.push({ path: entry.path, size: entry.lfs?.size ?? entry.size, hash });
    }
    if (files.length === 0) throw new ConfigError(`${described(repository)} holds no file`);
    return { commit: sha, architectures, files };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new DataError(`the answer is not the Hub's (${error.message}): correct HF_ENDPOINT`, place, { cause: error });
  }
}

async function information(connection: HubConnection): Promise<{ sha: string; architectures: Architectures }> {
  const { datasetInfo, modelInfo } = await import("@huggingface/hub");
  const { name, revision, kind } = connection.repository;
  const access = { name, revision, hubUrl: connection.settings.endpoint, fetch: patientFetch(connection) };
  if (kind === "dataset") return { sha: (await datasetInfo({ ...access, additionalFields: ["sha"] })).sha, architectures: undefined };
  const { sha, config } = await modelInfo({ ...access, additionalFields: ["sha", "config"] });
  const { architectures } = (config ?? {}) as { architectures?: unknown };
  return { sha, architectures: Array.isArray(architectures) ? architectures.map(String) : undefined };
}

/** Whether a repository's path stays inside the folder it is joined to, by the rules of POSIX and of Windows. */
function isInside(path: string): boolean {
  return path !== "" && path.split(/[/\\]/).every((part) => part !== "" && part !== "." && part !== ".." && !/^[A-Za-z]:/.test(part));
}
