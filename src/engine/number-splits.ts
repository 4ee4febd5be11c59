/** Makes the tokenizer library split numbers as Hugging Face's `tokenizers` does. */
import { isRecord } from "../json-values.ts";

/**
 * A `tokenizer.json` whose `Digits` steps are spelled out as splits at every number of Unicode (`\p{N}`: also ², ½, Ⅷ and ٣), which is
 * what `tokenizers` means by a digit; `@huggingface/tokenizers` only takes 0 to 9 for one. The argument is not changed.
 */
export function withUnicodeNumbers(tokenizer: Record<string, unknown>): Record<string, unknown> {
  return { ...tokenizer, pre_tokenizer: spelledOut(tokenizer["pre_tokenizer"]) };
}

function spelledOut(step: unknown): unknown {
  if (!isRecord(step)) return step;
  if (step["type"] === "Digits") {
    const pattern = { Regex: step["individual_digits"] === true ? "\\p{N}" : "\\p{N}+" };
    return { type: "Split", pattern, behavior: "Isolated", invert: false };
  }
  const steps = step["pretokenizers"];
  return Array.isArray(steps) ? { ...step, pretokenizers: steps.map(spelledOut) } : step;
}
