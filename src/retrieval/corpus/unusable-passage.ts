import { DataError } from "../../errors.ts";

/** The first unusable passage, where none may be left out: with `CorpusOptions.onSkip` it would be skipped. */
export class UnusablePassageError extends DataError {}
