/** Small readings of passages that a demonstration needs: what to quote, how an answer is spelled, what a question is about. */
import { containsAnswer } from "../../text.ts";

/** Text that can stand inside a block: on one line, without angle brackets, which could spell a tag. `plain`: without quotes and backslashes, too. */
export function writable(text: string, plain = false): string {
  const kept = text.replace(plain ? /["\\<>\p{Cc}]/gu : /[<>\p{Cc}]/gu, " ");
  return kept.replace(/\s+/g, " ").trim();
}

/** The sentence that holds an answer, cut to `most` words around it; undefined where none does. */
export function quoteOf(passage: string, answers: readonly string[], most: number): string | undefined {
  const sentence = passage.split(/(?<=[.!?])\s+/).find((text) => containsAnswer(text, answers));
  const words = (sentence ?? passage).split(/\s+/).filter((word) => word !== "");
  for (let start = 0; start === 0 || start + most <= words.length; start++) {
    const quote = words.slice(start, start + most).join(" ");
    if (containsAnswer(quote, answers)) return quote;
  }
  return undefined;
}

/** The first answer that the passage spells, in the passage's spelling; else the first that it holds at all, else the first. */
export function answerAsWritten(passage: string, answers: readonly string[]): string {
  const small = passage.toLowerCase();
  for (const answer of answers) {
    const wanted = answer.trim().toLowerCase();
    const at = small.indexOf(wanted);
    const spelled = at < 0 ? "" : passage.slice(at, at + wanted.length);
    if (spelled.toLowerCase() === wanted && containsAnswer(passage, [answer])) return spelled;
  }
  return answers.find((answer) => containsAnswer(passage, [answer])) ?? (answers[0] as string);
}

const emptyWords = new Set(
  "a an the of in on at to for by from with and or is are was were be been do does did has have had who whom whose what which when where why how that this these those it its as than then there both same".split(
    " ",
  ),
);

/** At most `most` words of the question that say what it is about and that `known` doesn't have, in their order. */
export function keyWords(question: string, known: string, most: number): string {
  const words = (text: string) => text.match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}'’.-]*/gu) ?? [];
  const seen = new Set(words(known).map((word) => word.toLowerCase()));
  const kept = words(question).filter((word) => !emptyWords.has(word.toLowerCase()) && !seen.has(word.toLowerCase()));
  return kept
    .slice(0, most)
    .map((word) => word.replace(/['’.-]+$/, ""))
    .join(" ");
}

/** A title without what tells its namesakes apart: `Devotion (1929 film)` -> `Devotion`. */
export function plainTitle(title: string): string {
  return title.replace(/\s*\([^)]*\)\s*$/, "").trim() || title.trim();
}
