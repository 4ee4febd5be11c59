/** Sentences and words as ICU finds them, in time linear in the length of the text: a segmenter alone takes the square of it. */

/** UTF-16 units given to a segmenter at once. */
const windowLength = 4096;

const sentences = new Intl.Segmenter("en", { granularity: "sentence" });
const words = new Intl.Segmenter("en", { granularity: "word" });

/** The sentences of a text, each with the white space after it: joined, they are the text again. The same as of a segmenter given all of it. */
export function* sentenceSegments(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const { found, end } = sentencesAt(text, start);
    for (const sentence of found) yield sentence;
    start = end;
  }
}

/**
 * The first sentences from `start` on. The last two that a window shows are left for the next one: the last may go on behind the window,
 * and whether the one before it ends where it seems to may depend on that.
 */
function sentencesAt(text: string, start: number): { readonly found: readonly string[]; readonly end: number } {
  for (let length = windowLength; ; length *= 2) {
    const all = Array.from(sentences.segment(text.slice(start, start + length)), ({ segment }) => segment);
    if (start + length >= text.length) return { found: all, end: text.length };
    const found = all.slice(0, -2);
    if (found.length > 0) return { found, end: start + found.reduce((sum, { length: units }) => sum + units, 0) };
  }
}

/** The words of a text and what stands between them: joined, they are the text again. A text longer than a window is cut where that ends. */
export function* wordSegments(text: string): Generator<{ readonly segment: string; readonly isWordLike: boolean }> {
  for (let start = 0; start < text.length; ) {
    const last = text.charCodeAt(start + windowLength - 1);
    const end = start + windowLength - (last >= 0xd800 && last <= 0xdbff ? 1 : 0);
    for (const { segment, isWordLike = false } of words.segment(text.slice(start, end))) yield { segment, isWordLike };
    start = end;
  }
}
