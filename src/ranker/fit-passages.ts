/** Passages that share a token budget: each keeps its beginning, the longest give way first, none is dropped. */
import type { Renderer } from "../engine/renderer.ts";
import { cutText } from "../retrieval/passage-text.ts";

/** Passages after cutting. */
export interface FittedPassages {
  readonly texts: readonly string[];
  /** How many were cut. */
  readonly cut: number;
}

/** @param budget Tokens for all passages together; below one a passage the texts are as short as they get, and the whole is still too long. */
export function fitPassages(renderer: Renderer, passages: readonly string[], budget: number): FittedPassages {
  const encoded = passages.map((text) => renderer.encodeData(text));
  const most = waterLevel(
    encoded.map(({ length }) => length),
    budget,
  );
  const texts = passages.map((text, index) => {
    const tokenIds = encoded[index] ?? [];
    return tokenIds.length <= most ? text : beginning(renderer, text, tokenIds, most);
  });
  return { texts, cut: encoded.filter(({ length }) => length > most).length };
}

/** The largest length at which lists of these lengths, cut there, fit the budget together; at least 0. */
function waterLevel(lengths: readonly number[], budget: number): number {
  let left = budget;
  const ascending = [...lengths].sort((a, b) => a - b);
  for (const [index, length] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - index));
    if (length > share) return Math.max(0, share);
    left -= length;
  }
  return Number.POSITIVE_INFINITY;
}

/** The text's beginning, whole words where there are several, that encodes to at most `most` tokens. */
function beginning(renderer: Renderer, text: string, tokenIds: readonly number[], most: number): string {
  // A tokenizer may normalise: its text tells how far to go, the passage itself what to show.
  let characters = Math.min(text.length, renderer.decode(tokenIds.slice(0, most)).length);
  while (characters > 0) {
    const kept = wholeWords(cutText(text, characters), text);
    if (renderer.encodeData(kept).length <= most) return kept;
    characters = Math.floor(Math.min(characters - 1, characters * 0.9));
  }
  return "";
}

function wholeWords(head: string, text: string): string {
  if (/\s/.test(text.charAt(head.length))) return head;
  return /^(.*\S)\s+\S*$/su.exec(head)?.[1] ?? head;
}
