import type { RepositoryFile, RepositoryKind } from "./repository.ts";

/** What to fetch. */
export interface PullRequest {
  /** `owner/name` */
  readonly name: string;
  readonly kind: RepositoryKind;
  /** Branch, tag or commit; default `main`. */
  readonly revision?: string | undefined;
  /** Patterns of the files wanted (`*` crosses folders), or a test of their paths; default: what `defaultFiles` chooses. */
  readonly files?: readonly string[] | ((path: string) => boolean) | undefined;
  /** Whether the cache must do; default: what the environment says. */
  readonly offline?: boolean | undefined;
  readonly onProgress?: ((event: PullEvent) => void) | undefined;
  /** Ends the pull; what has come is kept. */
  readonly signal?: AbortSignal | undefined;
  /** Default: that of the process. */
  readonly environment?: NodeJS.ProcessEnv | undefined;
  /** First wait between two tries; default 1000. */
  readonly backoffMilliseconds?: number | undefined;
}

/** `plan`: what will be fetched; `progress`: bytes of the wanted files that are there; `notice`: a retry or a wait. */
export type PullEvent =
  | {
      readonly kind: "plan";
      readonly files: readonly RepositoryFile[];
      readonly missing: readonly RepositoryFile[];
      readonly leftOut: readonly RepositoryFile[];
    }
  | { readonly kind: "progress"; readonly done: number; readonly total: number; readonly path: string }
  | { readonly kind: "notice"; readonly words: string };

/** What now lies in the cache. */
export interface Pulled {
  /** Folder of the snapshot. */
  readonly folder: string;
  /** Commit. */
  readonly revision: string;
  readonly files: readonly RepositoryFile[];
  readonly leftOut: readonly RepositoryFile[];
}

/** How a name is looked up. */
export type ResolveOptions = Pick<PullRequest, "offline" | "onProgress" | "signal" | "environment" | "backoffMilliseconds">;
