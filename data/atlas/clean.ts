/** Turning the sources' fields into short, plain values. */

/** ASCII text: accents folded, typographic marks made plain, anything that could upset JSON or a chat template dropped. */
export function plain(text: string): string {
  return text
    .normalize("NFKD")
    .replace(/[‘’`´]/g, "'")
    .replace(/[–—]/g, "-")
    .replace(/[^\x20-\x7e]/g, "")
    .replace(/["{}<>[\]_|*=+\\^~@#$%&!?]/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}

/** HUMALA -> Humala, DOS SANTOS -> Dos Santos; Roman numerals and initials stay. */
export function surnamesInTitleCase(text: string): string {
  return text.replace(/\b[A-Z]{2,}\b/g, (word, place: number) =>
    place > 0 && /^[IVX]+$/.test(word) ? word : word.charAt(0) + word.slice(1).toLowerCase(),
  );
}

const longestValue = 30;
const mostWords = 4;

/**
 * The first item of a field as a value: cut at a separator, without a leading article or trailing punctuation.
 * @returns undefined for what is too long, has numbers of two digits or more, or is a remark rather than a value.
 */
export function firstValue(field: string | undefined, separators = /[;(,:/]|\+\+/): string | undefined {
  if (field === undefined) return undefined;
  const value = plain(field.split(separators)[0] ?? "")
    .replace(/^(the|an?) /i, "")
    .replace(/^[' .-]+|[' .-]+$/g, "");
  if (value.length < 3 || value.length > longestValue || value.split(" ").length > mostWords) return undefined;
  return /\d{2}|\b(note|none|unnamed|unknown|various|other|undefined|location|na)\b/i.test(value) ? undefined : value;
}

/** Whether the words of `inner` stand together in `outer`, case aside. */
export function holdsWords(outer: string, inner: string): boolean {
  const words = (text: string) =>
    ` ${text
      .toLowerCase()
      .replace(/[^a-z0-9']+/g, " ")
      .trim()} `;
  return words(outer).includes(words(inner));
}

/** A name as part of an id: lower-case letters and digits with hyphens between them. */
export function slug(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
}
