import type { Document } from "../../types.ts";
import type { CorpusOptions, Place } from "./corpus-stream.ts";
import { duplicateReason } from "./duplicate-id.ts";
import { openCorpus } from "./open-corpus.ts";
import { UnusablePassageError } from "./unusable-passage.ts";

/** What the first stage indexes of a document: title and text. */
export function documentText(document: Document): string {
  return document.title === "" ? document.text : `${document.title} ${document.text}`;
}

/** The files and folders that a `retrieval` section names as its corpus. */
export function corpusPaths({ corpus = [] }: { readonly corpus?: string | readonly string[] | undefined }): readonly string[] {
  return typeof corpus === "string" ? [corpus] : corpus;
}

/**
 * Reads a whole corpus into memory: what `openCorpus` streams, ids checked for duplicates.
 * @throws ConfigError and DataError as `openCorpus` does, and UnusablePassageError for an id that is used twice, naming both places; with
 * `onSkip` the later passage is left out instead.
 */
export async function loadCorpus(paths: readonly string[] | string, options: CorpusOptions = {}): Promise<Document[]> {
  const documents: Document[] = [];
  const placeOfId = new Map<string, Place>();
  for await (const { document, place } of await openCorpus(typeof paths === "string" ? [paths] : paths, options)) {
    const earlier = placeOfId.get(document.id);
    if (earlier === undefined) {
      placeOfId.set(document.id, place);
      documents.push(document);
      continue;
    }
    const reason = duplicateReason(document.id, earlier, place);
    if (options.onSkip === undefined) throw new UnusablePassageError(reason, place);
    options.onSkip({ place, reason });
  }
  return documents;
}
