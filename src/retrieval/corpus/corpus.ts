import { DataError } from "../../errors.ts";
import type { Document } from "../../types.ts";
import { jsonLines, shown } from "./json-lines.ts";

/** What the first stage indexes of a document: title and text. */
export function documentText(document: Document): string {
  return document.title === "" ? document.text : `${document.title} ${document.text}`;
}

/** The files and folders that a `retrieval` section names as its corpus. */
export function corpusPaths({ corpus = [] }: { readonly corpus?: string | readonly string[] | undefined }): readonly string[] {
  return typeof corpus === "string" ? [corpus] : corpus;
}

/**
 * Reads a corpus: JSONL of {id, title, text}, one passage a line, blank lines skipped, further fields ignored. `title`
 * may be missing or empty.
 * @throws DataError naming file and line for malformed JSON, a missing or duplicate id, an empty text, or an empty file.
 */
export async function loadCorpus(...files: readonly string[]): Promise<Document[]> {
  const file = files[0] as string;
  const documents: Document[] = [];
  const lineOfId = new Map<string, number>();
  for await (const { line, value } of jsonLines(file)) {
    const place = { file, line };
    const id = value.id;
    const title = value.title ?? "";
    const text = value.text;
    if (typeof id !== "string" || id === "")
      throw new DataError(`id must be a non-empty string, got ${shown(id)}: give every passage an id`, place);
    if (typeof title !== "string")
      throw new DataError(`title must be a string, got ${shown(title)} (id ${id}): quote it or leave it out`, place);
    if (typeof text !== "string" || text.trim() === "") {
      throw new DataError(`text must be a non-empty string, got ${shown(text)} (id ${id}): remove the passage or fill it`, place);
    }
    const earlier = lineOfId.get(id);
    if (earlier !== undefined) throw new DataError(`id ${shown(id)} is already used in line ${earlier}: ids must be unique`, place);
    lineOfId.set(id, line);
    documents.push({ id, title, text });
  }
  if (documents.length === 0) throw new DataError("holds no passage: expected JSONL of {id, title, text}", { file });
  return documents;
}
