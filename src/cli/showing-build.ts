import type { OpenRetrieverOptions } from "../retrieval/open-retriever.ts";
import { stageProgress } from "./index-progress.ts";
import { Interrupted } from "./interrupt.ts";
import { withSkipAdvice } from "./skip-advice.ts";

/** Runs work that may build an index first, and shows that; Ctrl-C while it is built is told as `Interrupted`. `skipping`: how unusable passages are left out. */
export async function showingBuild<Result>(
  silent: boolean,
  signal: AbortSignal,
  work: (options: OpenRetrieverOptions) => Promise<Result>,
  skipping = "retrieval.skipBad: true",
): Promise<Result> {
  const progress = stageProgress(silent);
  try {
    return await work({ onBuild: progress.onEvent, signal });
  } catch (error) {
    if (signal.aborted)
      throw new Interrupted(
        "interrupted; of an index that was being built what is done is kept: the same command goes on where it stopped",
      );
    throw withSkipAdvice(error, skipping);
  } finally {
    progress.stop();
  }
}
