/** The words of a text as the first stage sees them: NFKD, accents dropped, lowercase runs of letters and digits. */
export function wordsOf(text: string): string[] {
  const folded = text
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase();
  return folded.match(/[\p{L}\p{N}]+/gu) ?? [];
}
