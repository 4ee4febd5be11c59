import { sentenceSegments, wordSegments } from "./segments.ts";

/** A paragraph, list item, table row or heading. */
export interface TextBlock {
  readonly text: string;
  readonly heading?: boolean;
}

/** A piece of a text; `section` is the nearest heading above its start (or at it). */
export interface TextPassage {
  readonly text: string;
  readonly section?: string;
}

/** What is never cut by choice: a sentence, or a part of an overlong one. */
interface Piece {
  readonly text: string;
  readonly words: number;
  readonly section: string | undefined;
  readonly opensBlock: boolean;
  readonly heading: boolean;
}

interface Draft {
  text: string;
  words: number;
  readonly section: string | undefined;
}

/** A "word" of more characters (encoded data, a long address) is cut, so that the size of a passage is bounded. */
const longestWord = 100;
const wordSlices = new RegExp(`.{1,${longestWord}}`, "gsu");

/** Scripts that put no space between words: Han, Hiragana, Katakana, Thai, Lao, Khmer, Burmese. */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/** Ends with a full stop that seldom ends a sentence: after titles, initials and the like. */
const abbreviation = /(?:^|[\s(.])(?:Mr|Mrs|Ms|Dr|Prof|St|Gen|Col|Capt|Lt|Sgt|Rev|Hon|vs|cf|No|Fig|Eq|Vol|e\.g|i\.e|\p{Lu})\.\s*$/u;

/**
 * Cuts a text into passages of about `passageWords` words (W) at sentence borders: each has at most 3/2 W words and, but for the last,
 * at least W/2. A sentence of more than W words is cut at word borders into equal parts; a heading opens a passage unless the one
 * before would be shorter than W/2. No word is lost or doubled. Within a block white space becomes one space; blocks are joined by \n.
 */
export function cutPassages(blocks: readonly TextBlock[], passageWords: number): TextPassage[] {
  const drafts: Draft[] = [];
  let draft: Draft | undefined;
  for (const piece of piecesOf(blocks, passageWords)) {
    if (draft !== undefined && closes(draft, piece, passageWords)) draft = undefined;
    if (draft === undefined) {
      draft = { text: piece.text, words: piece.words, section: piece.section };
      drafts.push(draft);
    } else extend(draft, piece.text, piece.words, piece.opensBlock);
  }
  const last = drafts.at(-1);
  const before = drafts.at(-2);
  if (last !== undefined && before !== undefined && last.words < passageWords / 2 && last.words + before.words <= 1.5 * passageWords) {
    drafts.pop();
    extend(before, last.text, last.words, last.text.startsWith("\n"));
  }
  return drafts.map(({ text, section }) => ({ text: text.trim(), ...(section === undefined ? {} : { section }) }));
}

function extend(draft: Draft, text: string, words: number, opensBlock: boolean): void {
  draft.text = opensBlock ? `${draft.text.trimEnd()}\n${text.trimStart()}` : draft.text + text;
  draft.words += words;
}

/** Whether the passage ends before the piece: when that brings it nearer to W than taking the piece in would. */
function closes(draft: Draft, piece: Piece, passageWords: number): boolean {
  if (piece.heading) return draft.words >= passageWords / 2;
  return draft.words + piece.words - passageWords > passageWords - draft.words;
}

function* piecesOf(blocks: readonly TextBlock[], passageWords: number): Generator<Piece> {
  let section: string | undefined;
  for (const block of blocks) {
    const text = block.text.trim().replace(/\s+/gu, " ");
    if (text === "") continue;
    const heading = block.heading ?? false;
    if (heading) section = text;
    let opensBlock = true;
    for (const part of sentenceParts(text, passageWords)) {
      // The line break travels with the text, so that a passage that is merged later still shows it.
      yield { ...part, text: opensBlock ? `\n${part.text}` : part.text, section, opensBlock, heading: heading && opensBlock };
      opensBlock = false;
    }
  }
}

function* sentenceParts(text: string, passageWords: number): Generator<{ text: string; words: number }> {
  for (const sentence of sentencesOf(text)) {
    const words = spacedWords(sentence);
    const parts = Math.ceil(words.length / passageWords);
    for (let part = 0; part < parts; part++) {
      const start = Math.round((part * words.length) / parts);
      const end = Math.round(((part + 1) * words.length) / parts);
      yield { text: words.slice(start, end).join(""), words: end - start };
    }
  }
}

function* sentencesOf(text: string): Generator<string> {
  let sentence = "";
  for (const segment of sentenceSegments(text)) {
    sentence += segment;
    if (abbreviation.test(segment)) continue;
    yield sentence;
    sentence = "";
  }
  if (sentence !== "") yield sentence;
}

/** The words of a text, each with the white space and punctuation after it: joined, they are the text again. */
export function spacedWords(text: string): string[] {
  const words: string[] = [];
  for (const run of text.match(/\s*\S+\s*/gu) ?? []) {
    for (const word of unspaced.test(run) ? dictionaryWords(run) : [run]) {
      if (word.length <= longestWord) words.push(word);
      else for (const [slice] of word.matchAll(wordSlices)) words.push(slice);
    }
  }
  return words;
}

/** The words of a run of a script without spaces, as a dictionary finds them. */
function dictionaryWords(run: string): string[] {
  const words: string[] = [];
  for (const { segment, isWordLike } of wordSegments(run)) {
    if (isWordLike || words.length === 0) words.push(segment);
    else words[words.length - 1] += segment;
  }
  return words;
}
