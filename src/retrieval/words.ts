import { stemmer } from "stemmer";

/** The words of a text as the first stage sees them: NFKD, accents dropped, lowercase runs of letters and digits. */
export function wordsOf(text: string): string[] {
  // Most texts are plain ASCII, for which the lines below come to the same, slowly.
  if (/^[\0-\x7f]*$/.test(text)) return text.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const folded = text
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase();
  return folded.match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** Version of `bm25Words`: an index that was built with another can't be searched. */
export const analyserVersion = 1;

/** The words that BM25 counts: Porter stems of `wordsOf`, so that `bands` finds `band`. Stop words stay: BM25 gives them next to no weight. */
export function bm25Words(text: string): string[] {
  return wordsOf(text).map(knownStem);
}

/** Stems by word, the words met first: those of a language come early, and rare ones are quickly stemmed again. */
const stems = new Map<string, string>();
const mostStems = 1 << 17;
/** The engine keeps the whole text alive for the sake of a longer piece of it. */
const longestKept = 12;

function knownStem(word: string): string {
  const known = stems.get(word);
  if (known !== undefined) return known;
  const made = stemmer(word);
  if (stems.size < mostStems && word.length <= longestKept) stems.set(word, made);
  return made;
}
