import { ConfigError } from "../errors.ts";
import { holdWeights } from "../retrieval/hub/default-files.ts";
import type { PullEvent, Pulled, PullRequest } from "../retrieval/hub/pull.ts";
import type { RepositoryFile } from "../retrieval/hub/repository.ts";
import { bytesText } from "../retrieval/indexing/estimate.ts";
import { allValues, defineStrictCommand, flags } from "./command.ts";
import { Interrupted, listenForInterrupt } from "./interrupt.ts";
import { pullProgress } from "./pull-progress.ts";

/** `cosearch pull`: a model or data set of the Hugging Face Hub comes into the cache that all of the Hub's clients share. */
export const pull = defineStrictCommand({
  meta: {
    name: "pull",
    description: "Fetch a model or data set from the Hugging Face Hub into its cache; a stopped pull goes on where it was",
  },
  args: {
    name: { type: "positional", description: "OWNER/NAME on the Hub", required: false },
    dataset: { type: "boolean", description: "a data set, not a model" },
    revision: { type: "string", description: "branch, tag or commit; default main", valueHint: "REVISION" },
    files: {
      type: "string",
      description:
        "fetch the files that fit, e.g. --files '*.json'; * crosses folders; may be given several times; default: configuration, tokenizer and one set of weights of a model, all of a data set",
      valueHint: "GLOB",
    },
    offline: { type: "boolean", description: "only look into the cache" },
    json: flags.json,
  },
  examples: [
    "cosearch pull intfloat/e5-base-v2",
    "cosearch pull Qwen/Qwen3-0.6B --revision main --files '*.json' --files '*.safetensors'",
    "cosearch pull PeterJinGo/wiki-18-corpus --dataset",
  ],
  async run({ args, rawArgs }) {
    if (args.name === undefined) throw new ConfigError("pull: name what to fetch, e.g. cosearch pull intfloat/e5-base-v2");
    const files = allValues("files", rawArgs);
    if (files.includes("")) throw new ConfigError("pull: --files needs a pattern, e.g. --files '*.json'");
    await pullShown(
      {
        name: args.name,
        kind: args.dataset ? "dataset" : "model",
        revision: args.revision,
        files,
        ...(args.offline ? { offline: true } : {}),
      },
      args.json === true,
    );
  },
});

async function pullShown(request: PullRequest, json: boolean): Promise<void> {
  const { pullRepository } = await import("../retrieval/hub/pull.ts");
  const progress = pullProgress(json);
  const interrupt = listenForInterrupt(() => progress.line("stopping; what has come is kept"));
  let kept = "";
  const onProgress = (event: PullEvent) => {
    if (event.kind === "progress") kept = `${bytesText(event.done)} of ${bytesText(event.total)} are kept; `;
    progress.onEvent(event);
  };
  try {
    const pulled = await pullRepository({ ...request, onProgress, signal: interrupt.signal });
    progress.stop();
    if (json) process.stdout.write(`${JSON.stringify({ name: request.name, kind: request.kind, ...plain(pulled) }, null, 2)}\n`);
    else {
      if (request.kind === "model" && !holdWeights(pulled.files.map(({ path }) => path))) {
        progress.line(
          "these files hold no weights that CoSearch reads (.onnx, .safetensors, .gguf); --files may name some, where there are any",
        );
      }
      progress.line(`${count(pulled.files)} at commit ${pulled.revision.slice(0, 12)}`);
      process.stdout.write(`${pulled.folder}\n`);
    }
  } catch (error) {
    progress.stop();
    if (!interrupt.signal.aborted) throw error;
    throw new Interrupted(`stopped: ${kept}the same command goes on`);
  } finally {
    interrupt.release();
  }
}

function plain({ folder, revision, files, leftOut }: Pulled): Record<string, unknown> {
  const listed = (list: readonly RepositoryFile[]) => list.map(({ path, size }) => ({ path, size }));
  return { folder, revision, files: listed(files), leftOut: listed(leftOut) };
}

function count(files: readonly RepositoryFile[]): string {
  return `${files.length} file${files.length === 1 ? "" : "s"}, ${bytesText(files.reduce((sum, { size }) => sum + size, 0))}`;
}
