/** The tiny models' tokenizer, trained on the world's own words. */
import { type TokenizerFiles, trainBpe } from "../../src/engine/bpe-trainer.ts";
import { chatTemplate, pieces, specialPieces } from "./vocabulary.ts";
import type { AtlasWorld } from "./world.ts";

/** Entries of the tiny models' vocabulary. */
export const vocabularySize = 2048;
/** The tiny models' longest sequence, in tokens. */
export const maxPositions = 512;

/** What demonstrations say besides questions, queries and passages. */
export const phrases = ["find the country", "search it", "not found", "found it", "the country is", "fits", "no fit", "unknown"];

/** Learns the tokenizer from passages, a third of the training questions, and the demonstrations' phrases. */
export function trainAtlasTokenizer(world: AtlasWorld): TokenizerFiles {
  const questions = world.questions("train");
  const texts = [
    ...world.documents.flatMap((document) => [document.text, document.title]),
    ...questions
      .filter((_, index) => index % 3 === 0)
      .flatMap((question) => [question.question, ...question.subQueries, question.alternativeSubQuery]),
    ...phrases.flatMap((phrase) => Array.from({ length: 20 }, () => phrase)),
  ];
  return trainBpe(texts, {
    vocabularySize,
    addedPieces: specialPieces.map((content) => ({ content, special: content === pieces.end || content === pieces.padding })),
    fold: true,
    addPrefixSpace: true,
    maxWordCount: 50,
    endOfText: pieces.end,
    padding: pieces.padding,
    chatTemplate,
    maxPositions,
  });
}
