/** Makes the tokenizer library split text as Hugging Face's `tokenizers` does, beyond ASCII too. */
import { isRecord } from "../json-values.ts";

/** GPT-2's pattern, which a ByteLevel step splits with where it is not told otherwise. */
const byteLevelPattern = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/**
 * A `tokenizer.json` whose splits mean in JavaScript what they mean in `tokenizers`; the argument is not changed.
 * - `Digits` splits at every number of Unicode (`\p{N}`: also ², ½, Ⅷ and ٣); `@huggingface/tokenizers` takes 0 to 9 only.
 * - `\s` is Unicode's white space; JavaScript's also holds U+FEFF (a byte-order mark) and lacks U+0085.
 *
 * A ByteLevel step that splits and also puts a space before the text (`add_prefix_space`) is left as it is.
 */
export function withUnicodeSplits(tokenizer: Record<string, unknown>): Record<string, unknown> {
  return { ...tokenizer, pre_tokenizer: spelledOut(tokenizer["pre_tokenizer"]) };
}

function spelledOut(step: unknown): unknown {
  if (!isRecord(step)) return step;
  const { type, pattern, pretokenizers } = step;
  if (type === "Sequence" && Array.isArray(pretokenizers)) return { ...step, pretokenizers: pretokenizers.map(spelledOut) };
  if (type === "Digits") return split(step["individual_digits"] === true ? "\\p{N}" : "\\p{N}+");
  if (type === "Split" && isRecord(pattern) && typeof pattern["Regex"] === "string") {
    return { ...step, pattern: { Regex: unicodeSpaces(pattern["Regex"]) } };
  }
  if (type === "ByteLevel" && step["use_regex"] !== false && step["add_prefix_space"] === false) {
    return { type: "Sequence", pretokenizers: [split(unicodeSpaces(byteLevelPattern)), { ...step, use_regex: false }] };
  }
  return step;
}

function split(pattern: string) {
  return { type: "Split", pattern: { Regex: pattern }, behavior: "Isolated", invert: false };
}

/** `\s` and `\S` by name, alone and in classes; an escaped backslash before an s is left alone. */
function unicodeSpaces(pattern: string): string {
  return pattern.replace(/\\./gsu, (found) => ({ "\\s": "\\p{White_Space}", "\\S": "\\P{White_Space}" })[found] ?? found);
}
