/**
 * How answers are normalised before they are compared; every reported score names its profile.
 * - `squad`: the field's published numbers: lowercase, ASCII punctuation deleted, articles dropped. No Unicode normalisation.
 * - `unicode`: NFKC; Unicode quotes and dashes count like the ASCII ones; hyphens and dashes become spaces; accents stay.
 * - `cjk`: `unicode`, and every ideograph is a word of its own.
 */
export type AnswerProfile = "squad" | "unicode" | "cjk";

const asciiPunctuation = /[!-/:-@[-`{-~]/g;

/** Dashes of every script, and the mathematical minus sign. */
const dashes = /[\p{Dash_Punctuation}\u2212]/gu;

/** Quotation marks, primes and the modifier letters that serve as apostrophes; deleted like the ASCII quotes. */
const quotes = /[\p{Initial_Punctuation}\p{Final_Punctuation}\u201A\u201E\u2032-\u2037\u02BB\u02BC\u300C-\u300F\u301D-\u301F]/gu;

/** Articles that are whole words. An accented letter, composed or not, belongs to its word: the last letter of `María` is no article. */
const articles = /(?<![\p{L}\p{M}\p{N}_])(?:an?|the)(?![\p{L}\p{M}\p{N}_])/gu;

const notWordCharacters = /[^\p{L}\p{M}\p{N}_]+/gu;

/** An ideograph with the marks (variation selectors) that follow it. */
const ideograph = /\p{Ideographic}\p{M}*/gu;

/** Surrounds every ideograph with spaces, so that each becomes a word of its own. */
export function spaceIdeographs(text: string): string {
  return text.replace(ideograph, " $& ");
}

/** The words of a text: its parts between white space. */
export function words(text: string): string[] {
  return text.split(/\s+/u).filter((word) => word !== "");
}

/** A text's normalised words joined by single spaces; empty when nothing but articles and punctuation was there. */
export function normalizeAnswer(text: string, profile: AnswerProfile = "squad"): string {
  let plain = text;
  if (profile !== "squad") plain = plain.normalize("NFKC").replace(dashes, " ").replace(quotes, "");
  plain = plain.toLowerCase().replace(asciiPunctuation, "").replace(articles, " ");
  if (profile === "cjk") plain = spaceIdeographs(plain);
  return words(plain).join(" ");
}

/** Query normalisation of semantic grouping (Eq. 5): lowercase, articles dropped, punctuation becomes a space. Accents stay. */
export function normalizeQuery(text: string): string {
  return words(text.toLowerCase().replace(articles, " ").replace(notWordCharacters, " ")).join(" ");
}
