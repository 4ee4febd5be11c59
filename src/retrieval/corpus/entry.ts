import { shown } from "../../json-values.ts";
import type { Place, PlacedDocument, SkippedPassage } from "./corpus-stream.ts";

/** What a reader makes of one record: a passage, or why it is none. */
export type Entry = PlacedDocument | SkippedPassage;

/** A reader's output: batches, because a step of an async generator for every passage is dear in a corpus of millions. */
export type Entries = AsyncGenerator<readonly Entry[]>;

/** The names under which an id, and a text, are found, the first present one counting. */
export const idFields = ["id", "_id", "docid"] as const;
export const textFields = ["text", "contents"] as const;

/** The first of `names` that the record has. */
export function firstPresent<Name extends string>(record: Readonly<Record<string, unknown>>, names: readonly Name[]): Name | undefined {
  return names.find((name) => record[name] !== undefined && record[name] !== null);
}

/**
 * A record as a passage: `{id, title, text}`, or `{id, contents}`, where the first of several lines is the title unless the record
 * has one. Whole numbers serve as ids, as their digits; `exactDigits` gives those of a number too large for JavaScript.
 */
export function toEntry(
  record: Readonly<Record<string, unknown>>,
  place: Place,
  exactDigits?: (idField: string) => string | undefined,
): Entry {
  const idField = firstPresent(record, idFields) ?? "id";
  const id = idOf(record[idField], () => exactDigits?.(idField));
  if (id === undefined) {
    const value = shown(record[idField] ?? undefined);
    return { place, reason: `${idField} must be a non-empty string or a whole number, got ${value}: give every passage an id` };
  }
  const textField = firstPresent(record, textFields) ?? "text";
  const content = record[textField];
  const title = record["title"] ?? "";
  if (typeof title !== "string") {
    return { place, reason: `title must be a string, got ${shown(title)} (id ${shown(id)}): quote it or leave it out` };
  }
  const parts = typeof content === "string" ? titleAndText(textField, title, content) : undefined;
  if (parts === undefined || parts.text.trim() === "") {
    const value = shown(content ?? undefined);
    return { place, reason: `${textField} must be a non-empty string, got ${value} (id ${shown(id)}): remove the passage or fill it` };
  }
  return { document: { id, ...parts }, place };
}

interface Parts {
  readonly title: string;
  readonly text: string;
}

function titleAndText(field: "text" | "contents", title: string, content: string): Parts {
  if (field === "text") return { title, text: content };
  const split = splitContents(content);
  // Beside a title of its own, the contents may or may not begin with it again.
  return title === "" || title === split.title ? split : { title, text: content };
}

function idOf(value: unknown, exactDigits: () => string | undefined): string | undefined {
  if (typeof value === "string") return value.trim() === "" ? undefined : value;
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "number") return undefined;
  return Number.isSafeInteger(value) ? String(value) : exactDigits();
}

/** Search-R1's `contents`: the first line is the title, its double quotes stripped, when there is more than one. */
export function splitContents(contents: string): Parts {
  const newline = contents.indexOf("\n");
  if (newline < 0) return { title: "", text: contents };
  return { title: unquoted(contents.slice(0, newline).trim()), text: contents.slice(newline + 1) };
}

/** Takes off the double quotes around a title; where those inside are doubled throughout, as CSV has it, they are halved. */
function unquoted(title: string): string {
  if (title.length < 2 || !title.startsWith('"') || !title.endsWith('"')) return title;
  const inner = title.slice(1, -1);
  return inner.replaceAll('""', "").includes('"') ? inner : inner.replaceAll('""', '"');
}
