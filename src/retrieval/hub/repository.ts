import { ConfigError } from "../../errors.ts";

export type RepositoryKind = "model" | "dataset";

/** A repository of the Hub at a revision. */
export interface Repository {
  readonly kind: RepositoryKind;
  /** `owner/name`, or `name` alone for the oldest ones, e.g. `gpt2`. */
  readonly name: string;
  /** Branch, tag, pull request (`refs/pr/1`) or commit. */
  readonly revision: string;
}

/** A file of a repository, as the Hub lists it. */
export interface RepositoryFile {
  /** Path in the repository, with `/`. */
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** Name of its blob in the cache: SHA-256 of the content for a large file (Git LFS), else its Git object's SHA-1; hexadecimal. */
  readonly hash: string;
}

const namePart = /^[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?$/;

/** Whether this can be the name of a repository. */
export function isRepositoryName(name: string): boolean {
  const parts = name.split("/");
  return parts.length <= 2 && parts.every((part) => part.length <= 96 && namePart.test(part) && !/--|\.\./.test(part));
}

/** @throws ConfigError when the name or the revision can't be one. */
export function repositoryOf(kind: RepositoryKind, name: string, revision = "main"): Repository {
  if (!isRepositoryName(name)) {
    const example = kind === "model" ? "intfloat/e5-base-v2" : "PeterJinGo/wiki-18-corpus";
    throw new ConfigError(`${JSON.stringify(name)} is no name of a repository: expected OWNER/NAME, e.g. ${example}`);
  }
  if (!/^[\w.+-]+(\/[\w.+-]+)*$/.test(revision) || revision.split("/").some((part) => /^\.+$/.test(part))) {
    throw new ConfigError(`revision ${JSON.stringify(revision)}: expected a branch, a tag or a commit, e.g. main`);
  }
  return { kind, name, revision };
}

/** How messages name it: `model intfloat/e5-base-v2`, with the revision when it isn't main. */
export function described({ kind, name, revision }: Repository): string {
  return `${kind === "model" ? "model" : "data set"} ${name}${revision === "main" ? "" : ` at ${revision}`}`;
}
