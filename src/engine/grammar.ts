/** What the agent's and the ranker's token grammars share: tags that must be single tokens, and tokens that are never plain text. */
import { ConfigError } from "../errors.ts";
import type { Renderer } from "./renderer.ts";

/**
 * The token of a tag. @throws ConfigError when the vocabulary spells the tag with several tokens: a grammar over tokens
 * needs one token a tag.
 */
export function tagToken(renderer: Renderer, tag: string, field: string): number {
  const id = renderer.tokenId(tag);
  if (id !== undefined) return id;
  throw new ConfigError(
    `${field}: true needs every tag to be one token, but the model's vocabulary has no token ${JSON.stringify(tag)}: set ${field} to false or use a model whose tokenizer adds it`,
  );
}

/** The piece that labels document i: `[i]` (or ` [i]` where the vocabulary has that token instead). */
export function labelPiece(renderer: Renderer, rank: number): string {
  const spaced = ` [${rank}]`;
  return renderer.tokenId(`[${rank}]`) === undefined && renderer.tokenId(spaced) !== undefined ? spaced : `[${rank}]`;
}

const reservedCache = new WeakMap<Renderer, readonly number[]>();

/**
 * Tokens that never count as text in a grammar: special tokens; tokens without any visible text (a block of them would be blank); tokens
 * with a quote, a backslash or a control character (the query is a JSON string); tokens with an angle bracket (they could spell a tag).
 */
export function nonTextTokens(renderer: Renderer): readonly number[] {
  const known = reservedCache.get(renderer);
  if (known) return known;
  const special = new Set(renderer.specialTokenIds);
  const reserved: number[] = [];
  for (let id = 0; id < renderer.vocabularySize; id++) {
    const text = special.has(id) ? "" : renderer.decode([id]);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what a JSON string must not contain
    if (text.trim() === "" || /["\\<>\u0000-\u001f]/.test(text)) reserved.push(id);
  }
  reservedCache.set(renderer, reserved);
  return reserved;
}
