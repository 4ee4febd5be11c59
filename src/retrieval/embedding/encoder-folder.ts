import { existsSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import type { EmbedderConfig } from "../../config.ts";
import { ModelError } from "../../errors.ts";
import { readOptionalJsonObject } from "../../files/json-file.ts";
import { encoderFamily } from "./encoder-families.ts";
import { longestInput } from "./encoder-length.ts";
import { type EncoderModules, readEncoderModules } from "./encoder-modules.ts";
import { promptPrefixes } from "./encoder-prompts.ts";
import type { Pooling } from "./pool-vectors.ts";

/** How a model folder is to be used: its own files, what is known of its family, and what the configuration says instead. */
export interface EncoderSettings {
  /** The model as users know it: no local path. */
  readonly model: string;
  /** Path of the ONNX graph. */
  readonly graph: string;
  readonly tokenizer: string;
  /** Absent: there is none. */
  readonly tokenizerConfig?: string;
  readonly queryPrefix: string;
  readonly documentPrefix: string;
  readonly pooling: Pooling;
  /** Whether the configuration asks for this pooling. */
  readonly poolingAsked: boolean;
  readonly normalize: boolean;
  /** Longest input in tokens, special ones included. */
  readonly maxTokens: number;
  /** Whether texts are lowercased before the tokenizer sees them. */
  readonly lowerCase: boolean;
  /** Id that fills short rows of a batch. */
  readonly padTokenId?: number;
  /** Dimensions that the files promise. */
  readonly width?: number;
  /** Modules behind the pooling that only a graph with sentence vectors can have. */
  readonly otherModules: readonly string[];
}

type Json = Readonly<Record<string, unknown>>;

/** Where sentence-transformers keeps the longest input, by age. */
const lengthFiles = ["bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet"].map(
  (kind) => `sentence_${kind}_config.json`,
);
/**
 * Reads an encoder folder in the Hugging Face layout: sentence-transformers' own, or flat with model.onnx and tokenizer.json alone.
 * @param config Its `model` names the model; `file`, `pooling`, `maxTokens`, `normalize` and prefixes go before what the folder says.
 * @throws ModelError naming the file that is missing or can't be used, and the fix; ConfigError where the configuration asks for too much.
 */
export async function readEncoderFolder(folder: string, config: EmbedderConfig): Promise<EncoderSettings> {
  const info = statSync(folder, { throwIfNoEntry: false });
  if (info?.isDirectory() !== true) {
    const what = info === undefined ? "does not exist" : "is a file";
    throw new ModelError(`${folder} ${what}: name a model folder in retrieval.embedder.model, and its graph in retrieval.embedder.file`);
  }
  const graph = await findGraph(folder, config.file);
  const modules = await readEncoderModules(folder, config.pooling);
  const places = [join(folder, modules.transformerFolder), folder];
  const tokenizer = firstOf(places, "tokenizer.json");
  if (tokenizer === undefined) {
    throw new ModelError(
      `${folder} has no tokenizer.json: save it with transformers (AutoTokenizer.from_pretrained(...).save_pretrained(folder)) beside the graph`,
    );
  }
  const read = async (name: string): Promise<Json | undefined> => {
    const file = firstOf(places, name);
    return file === undefined ? undefined : readOptionalJsonObject(file);
  };
  const transformer = await read("config.json");
  const tokenizerConfig = await read("tokenizer_config.json");
  const prompts = await read("config_sentence_transformers.json");
  const lengthFile = lengthFiles.find((name) => firstOf(places, name) !== undefined);
  const lengths = (lengthFile && (await read(lengthFile))) || {};
  const model = modelName(folder, config.model);
  const family = encoderFamily(model);
  const prefixes = promptPrefixes(prompts, family);
  const padTokenId = transformer?.["pad_token_id"];
  const width = modules.width ?? transformer?.["hidden_size"];
  return {
    model,
    graph,
    tokenizer,
    tokenizerConfig: firstOf(places, "tokenizer_config.json"),
    queryPrefix: config.queryPrefix ?? prefixes.queryPrefix,
    documentPrefix: config.documentPrefix ?? prefixes.documentPrefix,
    pooling: modules.pooling ?? family.pooling,
    poolingAsked: config.pooling !== undefined,
    normalize: config.normalize ?? normalizes(modules, prompts),
    maxTokens: longestInput(config.maxTokens, lengths, tokenizerConfig, transformer, folder),
    lowerCase: lengths["do_lower_case"] === true,
    ...(typeof padTokenId === "number" ? { padTokenId } : {}),
    ...(typeof width === "number" && modules.others.length === 0 ? { width } : {}),
    otherModules: modules.others,
  };
}

/** A folder that says nothing gets unit vectors; one without a Normalize module keeps its lengths, unless it compares by cosine. */
function normalizes(modules: EncoderModules, prompts: Json | undefined): boolean {
  return modules.normalize !== false || prompts?.["similarity_fn_name"] === "cosine";
}

/** `owner/name` of a model that is read from the Hub's cache. */
function cachedName(folder: string): string | undefined {
  return /(?:^|[/\\])models--(.+?)[/\\]snapshots[/\\][^/\\]+[/\\]?$/.exec(folder)?.[1]?.replace("--", "/");
}

/** `owner/name` of a Hub model, also where it is read from the cache; else the folder's own name. */
function modelName(folder: string, model: string | undefined): string {
  const cached = cachedName(folder);
  if (cached !== undefined) return cached;
  if (model !== undefined && /^[\w.-]+\/[\w.-]+$/.test(model) && resolve(model) !== resolve(folder)) return model;
  return basename(resolve(folder));
}

async function findGraph(folder: string, file: string | undefined): Promise<string> {
  const names = file === undefined ? ["model.onnx", "onnx/model.onnx"] : [file];
  const found = names.map((name) => join(folder, name)).find((path) => existsSync(path));
  if (found !== undefined) return found;
  const files = (await readdir(folder, { recursive: true })).map((name) => name.replaceAll("\\", "/"));
  const graphs = files.filter((name) => name.endsWith(".onnx")).sort();
  const cached = cachedName(folder);
  const fetching = cached === undefined || file === undefined ? "" : `, or fetch it with  cosearch pull ${cached} --files '${file}*'`;
  const fix =
    graphs.length > 0
      ? `it has ${graphs.join(", ")}: name one in retrieval.embedder.file${fetching}`
      : `it has ${
          files
            .filter((name) => !name.includes("/"))
            .sort()
            .slice(0, 12)
            .join(", ") || "no files"
        }: export the model with  optimum-cli export onnx --task feature-extraction --model NAME FOLDER, or take one that comes with onnx/model.onnx`;
  throw new ModelError(`${folder} has no ${names.join(" and no ")}; ${fix}`);
}

function firstOf(places: readonly string[], name: string): string | undefined {
  return places.map((place) => join(place, name)).find((path) => existsSync(path));
}
