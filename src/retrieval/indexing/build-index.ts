import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { RetrievalConfig } from "../../config.ts";
import { ConfigError, RunFolderError } from "../../errors.ts";
import { lockFolder } from "../../files/folder-lock.ts";
import { BuildJournal } from "./build-progress.ts";
import { type BuildIndexOptions, type ImportedVectors, runBuild, tryBuild } from "./build-steps.ts";
import { type CorpusSource, corpusSources, localCorpusPaths } from "./corpus-sources.ts";
import { buildArguments } from "./go-on-command.ts";
import { clearIndexFolder, indexFiles, prepareIndexFolder, removeTemporaries } from "./index-folder.ts";
import { contentSettings, newIndexSettings, openingSettings } from "./index-settings.ts";
import { type IndexManifest, readManifest } from "./manifest.ts";

export type { BuildIndexOptions, ImportedVectors } from "./build-steps.ts";

/**
 * Builds an index folder from a corpus, or goes on with an unfinished build of the same index: texts, statistics and BM25 that are complete
 * and every vector already written are kept. A finished index of these settings and this corpus is left as it is. The manifest is
 * written last.
 * @throws ConfigError when it won't fit, or a finished index is of other settings; RunFolderError when the folder holds other things, is in
 * use, or holds an unfinished index of other settings; DataError as the corpus does.
 */
export function buildIndex(options: BuildIndexOptions): Promise<IndexManifest> {
  return buildIndexFrom(options, undefined);
}

/** `buildIndex`, with vectors that exist already where `imported` is given. */
export async function buildIndexFrom(options: BuildIndexOptions, imported: ImportedVectors | undefined): Promise<IndexManifest> {
  const { config, folder, fresh = false } = options;
  const settings = newIndexSettings(config);
  const paths = await localCorpusPaths(config, options.signal);
  if (paths.length === 0) throw new ConfigError("retrieval.corpus: is needed to build an index: name files or folders of passages");
  const sources = [...(await corpusSources(paths, config.format)), ...(imported?.sources ?? [])];
  await prepareIndexFolder(folder);
  const release = await lockFolder(folder);
  try {
    if (fresh) {
      await tryBuild({ ...options, settings, paths, imported });
      await clearIndexFolder(folder);
    }
    await removeTemporaries(folder);
    const finished = await finishedIndex(folder, config, sources);
    if (finished !== undefined) {
      const { kind } = finished;
      const changedSince = await changedSources(folder, sources);
      options.onEvent?.({ kind: "unchanged", index: { kind, asked: config.kind ?? kind, sources: finished.sources, changedSince } });
      return finished;
    }
    const { format, skipBad, passageWords } = config;
    const journal = await BuildJournal.open(folder, {
      settings: { ...contentSettings(settings), format, skipBad, passageWords },
      sources,
      arguments: buildArguments(config, settings, imported?.arguments),
    });
    if (journal.state.done.length > 0) options.onEvent?.({ kind: "resumed", done: journal.state.done });
    return await runBuild({ ...options, settings, paths, journal, imported });
  } finally {
    await release();
  }
}

/** The manifest of a finished index, which must be what is asked for. */
async function finishedIndex(
  folder: string,
  config: RetrievalConfig,
  sources: readonly CorpusSource[],
): Promise<IndexManifest | undefined> {
  const manifest = await readManifest(folder);
  if (manifest === undefined) return undefined;
  openingSettings(config, manifest, folder);
  const told = (list: readonly { readonly name: string; readonly bytes: number }[]) =>
    list.map(({ name, bytes }) => `${name} (${bytes} bytes)`).join(", ");
  if (told(manifest.sources) !== told(sources)) {
    throw new RunFolderError(
      `${folder} holds a finished index of ${told(manifest.sources)}, asked for is one of ${told(sources)}: name another folder, or build it again with --fresh`,
    );
  }
  // A build that was killed between its last two acts.
  await rm(join(folder, indexFiles.build), { force: true });
  return manifest;
}

/** Names of the sources that are newer than the folder's manifest. */
async function changedSources(folder: string, sources: readonly CorpusSource[]): Promise<string[]> {
  const { mtimeMs } = await stat(join(folder, indexFiles.manifest));
  return sources.filter(({ modified }) => modified > mtimeMs).map(({ name }) => name);
}
