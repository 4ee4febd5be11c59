/** Trains a byte-level BPE tokenizer for tiny models and writes it in the Hugging Face format. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Tokenizer } from "@huggingface/tokenizers";
import { ConfigError } from "../errors.ts";
import { writeJsonAtomically } from "../files/json-file.ts";
import { learnMerges } from "./bpe-merges.ts";
import { byteAlphabet } from "./byte-alphabet.ts";
import { addedToken, bpeModel, byteLevel } from "./tokenizer-json.ts";

/** A piece that is always exactly one token, whatever the merges say. */
export interface AddedPiece {
  readonly content: string;
  /** Control tokens (end of text, padding): left out by decoders that skip special tokens. Default false. */
  readonly special?: boolean;
}

/** Size, special pieces and text handling of a tokenizer. */
export interface BpeTrainerOptions {
  /** Entries altogether: added pieces, 256 bytes, merges. */
  readonly vocabularySize: number;
  /** They get the ids 0, 1, 2, ... in this order. */
  readonly addedPieces: readonly AddedPiece[];
  /** NFD, accents stripped, lower case: fewer distinct words for a tiny model. Default false. */
  readonly fold?: boolean;
  /** A word at the start of a text is the same word as one after a space. Default true. */
  readonly addPrefixSpace?: boolean;
  /** A pair seen less often is not merged. Default 2. */
  readonly minPairCount?: number;
  /** A word counts at most this often, so that frequent boilerplate doesn't eat the vocabulary. Default: no cap. */
  readonly maxWordCount?: number;
  /** The added piece that ends a turn or text (`eos_token`). */
  readonly endOfText?: string;
  /** The added piece that fills batches (`pad_token`). */
  readonly padding?: string;
  /** Jinja template of a conversation (`chat_template`). */
  readonly chatTemplate?: string;
  /** The model's longest sequence (`model_max_length`). */
  readonly maxPositions?: number;
}

/** The two files of a Hugging Face tokenizer, as plain objects. */
export interface TokenizerFiles {
  readonly tokenizer: object;
  readonly config: object;
}

/**
 * Learns a tokenizer from texts. Deterministic: equal counts are settled by symbol order, the order of the texts does not
 * matter. No merge ever spells an added piece, so that plain text can't turn into one.
 * @throws ConfigError when the vocabulary has no room for the added pieces and the 256 bytes, or pieces clash.
 */
export function trainBpe(texts: Iterable<string>, options: BpeTrainerOptions): TokenizerFiles {
  checkOptions(options);
  const config = tokenizerConfig(options);
  const untrained = new Tokenizer(tokenizerJson(options, byteAlphabet, []), config);
  const wordCounts = new Map<string, number>();
  for (const text of texts) {
    const normalized = untrained.normalizer === null ? text : untrained.normalizer.normalize(text);
    if (normalized.length === 0) continue;
    for (const word of untrained.pre_tokenizer?.pre_tokenize(normalized) ?? []) wordCounts.set(word, (wordCounts.get(word) ?? 0) + 1);
  }
  const { symbols, merges } = learnMerges(wordCounts, {
    alphabet: byteAlphabet,
    firstId: options.addedPieces.length,
    vocabularySize: options.vocabularySize,
    minPairCount: options.minPairCount ?? 2,
    maxWordCount: options.maxWordCount ?? Number.POSITIVE_INFINITY,
    forbidden: new Set(options.addedPieces.map((piece) => piece.content)),
  });
  return { tokenizer: tokenizerJson(options, symbols, merges), config };
}

/** Writes tokenizer.json and tokenizer_config.json into a folder, which is made when it doesn't exist. */
export async function writeTokenizer(folder: string, files: TokenizerFiles): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeJsonAtomically(join(folder, "tokenizer.json"), files.tokenizer);
  await writeJsonAtomically(join(folder, "tokenizer_config.json"), files.config);
}

function tokenizerJson(options: BpeTrainerOptions, symbols: readonly string[], merges: readonly (readonly [string, string])[]): object {
  const pieces = options.addedPieces;
  const vocabulary = Object.create(null) as Record<string, number>;
  pieces.forEach((piece, index) => {
    vocabulary[piece.content] = index;
  });
  symbols.forEach((symbol, index) => {
    vocabulary[symbol] = pieces.length + index;
  });
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: pieces.map((piece, id) => addedToken(id, piece.content, piece.special ?? false)),
    normalizer: options.fold ? { type: "Sequence", normalizers: [{ type: "NFD" }, { type: "StripAccents" }, { type: "Lowercase" }] } : null,
    pre_tokenizer: byteLevel(options.addPrefixSpace ?? true),
    post_processor: null,
    decoder: byteLevel(options.addPrefixSpace ?? true),
    model: bpeModel(vocabulary, merges),
  };
}

function tokenizerConfig(options: BpeTrainerOptions): object {
  return {
    tokenizer_class: "PreTrainedTokenizerFast",
    add_prefix_space: options.addPrefixSpace ?? true,
    clean_up_tokenization_spaces: false,
    ...(options.maxPositions === undefined ? {} : { model_max_length: options.maxPositions }),
    ...(options.endOfText === undefined ? {} : { eos_token: options.endOfText }),
    ...(options.padding === undefined ? {} : { pad_token: options.padding }),
    ...(options.chatTemplate === undefined ? {} : { chat_template: options.chatTemplate }),
  };
}

function checkOptions(options: BpeTrainerOptions): void {
  const contents = options.addedPieces.map((piece) => piece.content);
  const needed = contents.length + byteAlphabet.length;
  if (options.vocabularySize < needed) {
    throw new ConfigError(
      `vocabularySize ${options.vocabularySize} is too small: ${contents.length} added pieces and ${byteAlphabet.length} bytes need at least ${needed}`,
    );
  }
  const seen = new Set<string>(byteAlphabet);
  for (const content of contents) {
    if (content.length === 0) throw new ConfigError("addedPieces: a piece is empty; leave it out");
    if (seen.has(content))
      throw new ConfigError(
        `addedPieces: ${JSON.stringify(content)} is there twice or is a single byte; keep one, of two characters or more`,
      );
    seen.add(content);
  }
  for (const name of ["endOfText", "padding"] as const) {
    const piece = options[name];
    if (piece !== undefined && !contents.includes(piece)) {
      throw new ConfigError(`${name} ${JSON.stringify(piece)} is not one of addedPieces: add it there`);
    }
  }
}
