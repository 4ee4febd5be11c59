/** The words of a text as the first stage sees them: NFKD, accents dropped, lowercase runs of letters and digits. */
export function wordsOf(text: string): string[] {
  const folded = text
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase();
  return folded.match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** Version of `bm25Words`: an index that was built with another can't be searched. */
export const analyserVersion = 1;

/** The words that BM25 counts. */
export function bm25Words(text: string): string[] {
  return wordsOf(text);
}
