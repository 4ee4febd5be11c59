import { duration } from "../evaluation/report/scale.ts";
import type { BuildIndexOptions } from "../retrieval/indexing/build-index.ts";
import type { BuildEvent } from "../retrieval/indexing/build-progress.ts";
import { bytesText } from "../retrieval/indexing/estimate.ts";
import { quoted } from "../retrieval/indexing/go-on-command.ts";
import type { IndexManifest } from "../retrieval/indexing/manifest.ts";
import { indexTarget } from "./index-flags.ts";
import { othersText, stageProgress } from "./index-progress.ts";
import { Interrupted, listenForInterrupt } from "./interrupt.ts";
import { withSkipAdvice } from "./skip-advice.ts";

/** Flags of making that aren't settings. */
interface MakingArguments {
  readonly fresh?: boolean;
  readonly force?: boolean;
  readonly json?: boolean;
}

type OtherFiles = Extract<BuildEvent, { kind: "others" }>;

/** Runs what makes an index: progress on stderr, the outcome on stdout, and a quiet Ctrl-C that keeps what is done. */
export async function makeIndex(
  command: string,
  args: MakingArguments,
  rawArgs: readonly string[],
  make: (options: BuildIndexOptions) => Promise<IndexManifest>,
): Promise<void> {
  const { config, folder } = indexTarget(command, rawArgs);
  const started = performance.now();
  let others: OtherFiles | undefined;
  const progress = stageProgress(args.json === true);
  const interrupt = listenForInterrupt(() => progress.line("stopping at the next block (Ctrl-C again to stop at once) ..."));
  try {
    const manifest = await make({
      config,
      folder,
      fresh: args.fresh === true,
      force: args.force === true,
      onEvent: (event) => {
        if (event.kind === "others") others = event;
        progress.onEvent(event);
      },
      signal: interrupt.signal,
    });
    progress.stop();
    process.stdout.write(
      args.json
        ? `${JSON.stringify({ index: folder, ...manifest, ...(others && { otherFiles: { count: others.files, kinds: others.kinds } }) })}\n`
        : made(folder, manifest, others, `took ${duration((performance.now() - started) / 1000)}`),
    );
  } catch (error) {
    if (interrupt.signal.aborted) throw new Interrupted("interrupted; what is done is kept: the same command goes on where it stopped");
    throw withSkipAdvice(error, "--skip-bad");
  } finally {
    progress.stop();
    interrupt.release();
  }
}

function made(folder: string, manifest: IndexManifest, others: OtherFiles | undefined, took: string): string {
  const { count, skipped } = manifest.documents;
  const bytes = Object.values(manifest.files).reduce((sum, size) => sum + size, 0);
  const left = skipped > 0 ? `, ${skipped.toLocaleString("en")} left out: see ${folder}/skipped.jsonl` : "";
  const unread = others ? `; ${othersText(others)}` : "";
  return `${folder}: ${manifest.kind} index of ${count.toLocaleString("en")} passages${left}${unread}; ${bytesText(bytes)} of files (${took})\nnext: cosearch index search "..." --index ${quoted(folder)}\n`;
}
