/** A tokenizer that knows no added tokens: whatever a text spells, it comes out as ordinary pieces. */
import { Tokenizer } from "@huggingface/tokenizers";

interface AddedToken {
  readonly id: number;
  readonly content: string;
}

/**
 * The tokenizer of a `tokenizer.json` with every added token taken out of the splitter, the vocabulary and the merges.
 * Splitting the text at spelled-out tokens would not be enough: normalisation can make one out of harmless text (`<ANSWER>`
 * where the normalizer lowercases), and merges can assemble one.
 */
export function plainTokenizer(json: Record<string, unknown>, config: Record<string, unknown>): Tokenizer {
  const added = (json["added_tokens"] ?? []) as readonly AddedToken[];
  const contents = new Set(added.map((token) => token.content));
  const model = json["model"] as Record<string, unknown>;
  return new Tokenizer({ ...json, added_tokens: [], model: withoutPieces(model, contents) }, config);
}

function withoutPieces(model: Record<string, unknown>, contents: ReadonlySet<string>): Record<string, unknown> {
  const vocabulary = model["vocab"];
  // Unigram keeps pieces by position: a taken-out piece becomes a string that no text of whole characters contains.
  if (Array.isArray(vocabulary)) {
    return { ...model, vocab: vocabulary.map((entry: [string, number]) => (contents.has(entry[0]) ? ["\ud800", entry[1]] : entry)) };
  }
  const kept = Object.fromEntries(Object.entries(vocabulary as Record<string, number>).filter(([piece]) => !contents.has(piece)));
  const merges = model["merges"] as readonly (string | readonly [string, string])[] | undefined;
  if (merges === undefined) return { ...model, vocab: kept };
  const product = (merge: string | readonly [string, string]) => (typeof merge === "string" ? merge.replace(" ", "") : merge.join(""));
  return { ...model, vocab: kept, merges: merges.filter((merge) => !contents.has(product(merge))) };
}
