import type { Repository, RepositoryFile } from "./repository.ts";

/** What of a repository is fetched when no files are named. */
export interface FileChoice {
  readonly files: readonly RepositoryFile[];
  readonly leftOut: readonly RepositoryFile[];
}

/** What a model's configuration says of it: class names, e.g. `Qwen3ForCausalLM`. */
export type Architectures = readonly string[] | undefined;

/** Configuration, vocabulary, chat template, licence. */
const texts = /\.(json|txt|model|jinja|tiktoken)$|(^|\/)(licen[cs]e|notice|readme)(\.[a-z]+)?$/i;
/** Parts of a sentence-transformers model, e.g. `1_Pooling/config.json` and `2_Dense/model.safetensors`. */
const modulePart = /^\d+_\w+\/[^/]+\.(json|txt|model|safetensors)$/;
/** Exports for other runtimes, and checkpoints of a training. */
const otherRuntime = /^(openvino|coreml|tflite|tf|flax|gguf|\.|checkpoint)/i;
/** Weights, whole or in numbered shards. */
const safetensors = /^model(-\d+-of-\d+)?\.safetensors$/;
const graph = /^(onnx\/)?model\.onnx$/;

/**
 * A data set: everything. A model: configuration, tokenizer and weights: the ONNX graph for an encoder (with the data beside it),
 * safetensors for a language model or where there is no graph; both where the repository doesn't tell what it is.
 */
export function defaultFiles({ kind }: Repository, files: readonly RepositoryFile[], architectures: Architectures): FileChoice {
  const weights = weightPaths(files, architectures);
  const wanted = (path: string) => {
    if (kind === "dataset") return path !== ".gitattributes";
    if (weights.has(path) || modulePart.test(path)) return true;
    const deep = path.includes("/") && !/^(onnx|\d+_\w+|additional_chat_templates)\/[^/]+$/.test(path);
    return !deep && !otherRuntime.test(path) && texts.test(path) && !path.endsWith(".index.json");
  };
  return { files: files.filter(({ path }) => wanted(path)), leftOut: files.filter(({ path }) => !wanted(path)) };
}

function weightPaths(files: readonly RepositoryFile[], architectures: Architectures): ReadonlySet<string> {
  const paths = files.map(({ path }) => path);
  const graphs = paths.filter((path) => graph.test(path));
  const chosen = graphs.find((path) => path.startsWith("onnx/")) ?? graphs[0];
  const graphFiles = chosen === undefined ? [] : [chosen, ...graphData(chosen, paths)];
  const tensors = paths.filter((path) => safetensors.test(path) || path === "model.safetensors.index.json");
  if (graphFiles.length === 0) return new Set(tensors);
  if (tensors.length === 0 || paths.includes("modules.json")) return new Set(graphFiles);
  if (architectures === undefined) return new Set([...graphFiles, ...tensors]);
  const isLanguageModel = architectures.some((name) => /ForCausalLM|LMHeadModel/.test(name));
  return new Set(isLanguageModel ? tensors : graphFiles);
}

/**
 * Which of these paths an ONNX graph keeps tensors in, by the names that exporters give: one file (`model.onnx_data`, `model.onnx.data`), or
 * a file a tensor (`Constant_7_attr__value` of BAAI/bge-m3, `onnx__MatMul_1234`).
 */
export function graphData(graph: string, paths: readonly string[]): string[] {
  const folder = graph.slice(0, graph.lastIndexOf("/") + 1);
  const ofGraph = (path: string) => path.startsWith(graph) && /^[._]data/.test(path.slice(graph.length));
  const ofTensor = (path: string) => path.startsWith(folder) && /^(Constant_\d+_attr__value|onnx__\w+)$/.test(path.slice(folder.length));
  return paths.filter((path) => ofGraph(path) || ofTensor(path));
}

/** Whether these files hold weights that CoSearch reads. */
export function holdWeights(paths: readonly string[]): boolean {
  return paths.some((path) => /\.(onnx|safetensors|gguf)$/.test(path));
}
