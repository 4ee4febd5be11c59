/** The renderer over the tokenizer and chat template of a Hugging Face model folder. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Tokenizer } from "@huggingface/tokenizers";
import { ModelError } from "../errors.ts";
import { readJsonObject, readOptionalJsonObject } from "../files/json-file.ts";
import { ChatTemplate, type RenderedSegment } from "./chat-template.ts";
import { GgufFile, isGguf } from "./gguf/gguf-file.ts";
import { ggufTokenizer } from "./gguf/gguf-tokenizer.ts";
import { plainTokenizer } from "./plain-tokenizer.ts";
import { RecentCache } from "./recent-cache.ts";
import type { Message, Renderer } from "./renderer.ts";
import { withUnicodeSplits } from "./unicode-splits.ts";

const cachedTexts = 20_000;

/** All that a renderer is made of: the parsed files of a model folder. */
export interface RendererFiles {
  /** Named in errors. */
  readonly folder: string;
  readonly tokenizer: Record<string, unknown>;
  readonly tokenizerConfig: Record<string, unknown>;
  /** Jinja source; undefined: the model has none, and conversations can't be rendered. */
  readonly chatTemplate?: string;
  /** Ids of end-of-text tokens beyond tokenizer_config.json's `eos_token`. */
  readonly endTokenIds?: readonly number[];
}

/**
 * The renderer of a GGUF file or a model folder: tokenizer.json, tokenizer_config.json, and (where there are such) chat_template.jinja,
 * generation_config.json and config.json, whose `eos_token_id`s become stop tokens.
 * @throws ModelError for missing or broken files, and for a tokenizer with more entries than config.json's `vocab_size`.
 */
export async function loadRenderer(folder: string): Promise<Renderer> {
  if (isGguf(folder)) return ggufRenderer(folder);
  const tokenizer = await readJsonObject(join(folder, "tokenizer.json"));
  const tokenizerConfig = (await readOptionalJsonObject(join(folder, "tokenizer_config.json"))) ?? {};
  const model = await readOptionalJsonObject(join(folder, "config.json"));
  const generation = await readOptionalJsonObject(join(folder, "generation_config.json"));
  const endTokenIds = [generation, model].flatMap((json) => idList(json?.["eos_token_id"]));
  const renderer = new HfRenderer({
    folder,
    tokenizer,
    tokenizerConfig,
    chatTemplate: await chatTemplateOf(folder, tokenizerConfig),
    endTokenIds,
  });
  const vocabularySize = model?.["vocab_size"];
  if (typeof vocabularySize === "number") checkVocabulary(renderer, vocabularySize, folder);
  return renderer;
}

/** The renderer of a GGUF file, which holds tokenizer and template itself. */
async function ggufRenderer(path: string): Promise<Renderer> {
  const file = await GgufFile.open(path);
  try {
    const { tokenizer, tokenizerConfig } = ggufTokenizer(file);
    const template = tokenizerConfig["chat_template"];
    return new HfRenderer({
      folder: path,
      tokenizer,
      tokenizerConfig,
      ...(typeof template === "string" ? { chatTemplate: template } : {}),
    });
  } finally {
    await file.close();
  }
}

/**
 * A tokenizer must not produce ids that the model has no embedding for (the other way round is common: padded embeddings).
 * @throws ModelError naming both sizes.
 */
export function checkVocabulary(renderer: Renderer, modelVocabularySize: number, folder: string): void {
  if (renderer.vocabularySize <= modelVocabularySize) return;
  throw new ModelError(
    `${folder}: the tokenizer has ${renderer.vocabularySize} entries, the model only ${modelVocabularySize}: take the tokenizer that belongs to this model`,
  );
}

/** See Renderer. Encodings are cached: rollouts encode the same documents thousands of times. */
export class HfRenderer implements Renderer {
  readonly vocabularySize: number;
  readonly stopTokenIds: readonly number[];
  readonly specialTokenIds: readonly number[];
  private readonly tokenizer: Tokenizer;
  private readonly plain: Tokenizer;
  private readonly template: ChatTemplate | undefined;
  private readonly added: ReadonlyMap<string, number>;
  private readonly special: ReadonlySet<number>;
  private readonly stops: ReadonlySet<number>;
  private readonly markupCache = new RecentCache<string, number[]>(cachedTexts);
  private readonly dataCache = new RecentCache<string, number[]>(cachedTexts);

  /** @throws ModelError when the library can't read the tokenizer or the template. */
  constructor(private readonly files: RendererFiles) {
    try {
      const tokenizer = withUnicodeSplits(files.tokenizer);
      this.tokenizer = new Tokenizer(tokenizer, files.tokenizerConfig);
      this.plain = plainTokenizer(tokenizer, files.tokenizerConfig);
    } catch (error) {
      throw new ModelError(`${join(files.folder, "tokenizer.json")} can't be used: ${(error as Error).message}`, { cause: error });
    }
    this.added = new Map([...this.tokenizer.get_added_tokens_decoder()].map(([id, token]) => [token.content, id]));
    this.specialTokenIds = [...this.added.values()];
    this.special = new Set(this.specialTokenIds);
    this.vocabularySize = 1 + Math.max(...this.tokenizer.get_vocab().values());
    const named = namedTokens(files.tokenizerConfig);
    const ends = named["eos_token"] === undefined ? [] : [this.tokenizer.token_to_id(named["eos_token"])];
    this.stopTokenIds = [...new Set([...ends, ...(files.endTokenIds ?? [])])].filter(
      (id) => id !== undefined && id < this.vocabularySize,
    ) as number[];
    this.stops = new Set(this.stopTokenIds);
    this.template = files.chatTemplate === undefined ? undefined : new ChatTemplate(files.chatTemplate, named, files.folder);
  }

  encodeMarkup(text: string): number[] {
    return this.markupCache.get(text, () => idsOf(this.tokenizer, text)).slice();
  }

  encodeData(text: string): number[] {
    return this.dataCache.get(text, () => idsOf(this.plain, text).filter((id) => !this.special.has(id))).slice();
  }

  decode(tokenIds: readonly number[]): string {
    // A model's embedding may be padded beyond the tokenizer: such ids have no text.
    const shown = tokenIds.filter((id) => !this.stops.has(id) && this.tokenizer.id_to_token(id) !== undefined);
    return shown.length === 0 ? "" : this.tokenizer.decode(shown, { clean_up_tokenization_spaces: false });
  }

  tokenId(piece: string): number | undefined {
    return this.added.get(piece);
  }

  renderConversation(messages: readonly Message[]): number[] {
    return this.encodeSegments(this.requireTemplate().conversation(messages));
  }

  renderContinuation(messages: readonly Message[], lastTokenId: number | undefined): number[] {
    const tokenIds = this.encodeSegments(this.requireTemplate().continuation(messages));
    const closed = lastTokenId !== undefined && this.stops.has(lastTokenId) && tokenIds[0] === lastTokenId;
    return closed ? tokenIds.slice(1) : tokenIds;
  }

  private encodeSegments(segments: readonly RenderedSegment[]): number[] {
    return segments.flatMap((segment) => ("data" in segment ? this.encodeData(segment.data) : this.encodeMarkup(segment.markup)));
  }

  private requireTemplate(): ChatTemplate {
    if (this.template !== undefined) return this.template;
    throw new ModelError(
      `${this.files.folder}: tokenizer_config.json has no chat_template (nor is there a chat_template.jinja): use an instruction-tuned model or add one`,
    );
  }
}

/** Ids of a text; what the vocabulary can't express (and has no unknown token for) is left out. */
function idsOf(tokenizer: Tokenizer, text: string): number[] {
  const ids = tokenizer.encode(text, { add_special_tokens: false }).ids as readonly (number | undefined)[];
  return ids.filter((id) => id !== undefined);
}

async function chatTemplateOf(folder: string, tokenizerConfig: Record<string, unknown>): Promise<string | undefined> {
  const file = join(folder, "chat_template.jinja");
  if (existsSync(file)) return readFile(file, "utf8");
  const template = tokenizerConfig["chat_template"];
  if (typeof template === "string") return template;
  // Models with several templates list them by name.
  if (Array.isArray(template)) return template.find((entry: { name?: unknown }) => entry.name === "default")?.template;
  return undefined;
}

/** `bos_token`, `eos_token`, ... of tokenizer_config.json: strings, or objects with their content. */
function namedTokens(config: Record<string, unknown>): Record<string, string> {
  const named: Record<string, string> = {};
  for (const [name, value] of Object.entries(config)) {
    if (!name.endsWith("_token")) continue;
    const content = typeof value === "object" && value !== null ? (value as { content?: unknown }).content : value;
    if (typeof content === "string") named[name] = content;
  }
  return named;
}

function idList(value: unknown): number[] {
  return (Array.isArray(value) ? value : [value]).filter((id): id is number => Number.isInteger(id));
}
