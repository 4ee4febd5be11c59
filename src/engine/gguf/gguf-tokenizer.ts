import { ModelError } from "../../errors.ts";
import { addedToken, bpeModel, byteLevel } from "../tokenizer-json.ts";
import type { GgufFile } from "./gguf-file.ts";

/** What `tokenizer.json` and `tokenizer_config.json` of the model's Hugging Face folder would hold. */
export interface GgufTokenizer {
  readonly tokenizer: Record<string, unknown>;
  readonly tokenizerConfig: Record<string, unknown>;
}

const split = (pattern: string) => ({ type: "Split", pattern: { Regex: pattern }, behavior: "Isolated", invert: false });
const sequence = (...steps: object[]) => ({ type: "Sequence", pretokenizers: steps });
const wordPattern = (digits: string) =>
  `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;

/** How text is split before merging, by `tokenizer.ggml.pre`. */
const splitters: Readonly<Record<string, { readonly normalizer?: object; readonly splitter: object; readonly ignoreMerges?: boolean }>> = {
  "gpt-2": { splitter: byteLevel(false) },
  smollm: { splitter: sequence({ type: "Digits", individual_digits: true }, byteLevel(false)) },
  qwen2: { normalizer: { type: "NFC" }, splitter: sequence(split(wordPattern("")), byteLevel(false, false)) },
  "llama-bpe": { splitter: sequence(split(wordPattern("{1,3}")), byteLevel(false, false)), ignoreMerges: true },
};

/** Values of `tokenizer.ggml.token_type`. */
const controlToken = 3;
const userToken = 4;

/**
 * The byte-level BPE tokenizer and the chat template kept in a GGUF file.
 * @throws ModelError for other tokenizers, naming what is supported.
 */
export function ggufTokenizer({ metadata, path }: GgufFile): GgufTokenizer {
  const kind = metadata.get("tokenizer.ggml.model");
  const pre = metadata.get("tokenizer.ggml.pre");
  const chosen = typeof pre === "string" && Object.hasOwn(splitters, pre) ? splitters[pre] : undefined;
  if (kind !== "gpt2" || chosen === undefined) {
    throw new ModelError(
      `${path}: its tokenizer is ${JSON.stringify(kind)} with pre-tokenizer ${JSON.stringify(pre)}; supported are gpt2 with ${Object.keys(splitters).join(", ")}: ` +
        "take the model's Hugging Face folder instead",
    );
  }
  const strings = (key: string): string[] => {
    const value = metadata.get(key);
    if (!Array.isArray(value)) throw new ModelError(`${path}: ${key} is missing`);
    return value as string[];
  };
  const tokens = strings("tokenizer.ggml.tokens");
  const types = (metadata.get("tokenizer.ggml.token_type") ?? []) as readonly number[];
  const addedTokens = tokens.flatMap((content, id) => {
    const special = types[id] === controlToken;
    if (!special && types[id] !== userToken) return [];
    return [addedToken(id, content, special)];
  });
  const named = (key: string): string | undefined => {
    const id = metadata.get(`tokenizer.ggml.${key}_token_id`);
    return typeof id === "number" ? tokens[id] : undefined;
  };
  const tokenizer = {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: addedTokens,
    normalizer: chosen.normalizer ?? null,
    pre_tokenizer: chosen.splitter,
    post_processor: null,
    decoder: byteLevel(true),
    model: bpeModel(Object.fromEntries(tokens.map((token, id) => [token, id])), strings("tokenizer.ggml.merges"), chosen.ignoreMerges),
  };
  const template = metadata.get("tokenizer.chat_template");
  const tokenizerConfig = {
    tokenizer_class: "PreTrainedTokenizerFast",
    bos_token: named("bos"),
    eos_token: named("eos"),
    pad_token: named("padding"),
    ...(typeof template === "string" ? { chat_template: template } : {}),
  };
  return { tokenizer, tokenizerConfig };
}
