/**
 * The wire of retrieval servers, as Search-R1 introduced it: `POST /retrieve` of {@link RetrieveRequest}, answered by {@link RetrieveAnswer}.
 * A passage's `contents` has the title in double quotes as its first line, the text below it.
 */
import { createHash } from "node:crypto";
import { MalformedAnswerError } from "../../endpoint/endpoint-failure.ts";
import { isRecord, shown } from "../../json-values.ts";
import type { Candidate, Document } from "../../types.ts";
import { splitContents } from "../corpus/entry.ts";

/** What a client sends. */
export interface RetrieveRequest {
  readonly queries: readonly string[];
  /** Passages a query; null or absent: the server's default. */
  readonly topk?: number | null;
  readonly return_scores?: boolean;
}

/** A passage as it is sent. */
export interface WireDocument {
  readonly id: string;
  readonly contents: string;
}

/** What a server answers: a list a query, best first; bare documents unless scores were asked for. */
export interface RetrieveAnswer {
  readonly result: readonly (readonly (WireDocument | { readonly document: WireDocument; readonly score: number })[])[];
}

/**
 * FAISS fills lists that are too short with the lowest number there is (the highest where it measures distances), and Search-R1's server
 * sends the corpus' last passage for it.
 */
const fillerScore = 3.4e38;

/** A document as it is sent. A title of several lines becomes one line, because only the first line is read as the title. */
export function toWire({ id, title, text }: Document): WireDocument {
  return { id, contents: `"${title.replace(/\s*[\r\n]+\s*/g, " ")}"\n${text}` };
}

/**
 * Reads an answer: at most `topK` candidates a query, in the server's order, fillers left out. Documents are `{contents}` or `{title, text}`;
 * numeric ids become strings, and a document without an id gets one from its contents. Without scores, a candidate's score is 1 / rank.
 * @throws MalformedAnswerError naming the place and what stands there.
 */
export function fromWire(answer: unknown, queries: number, topK: number): Candidate[][] {
  const result = isRecord(answer) ? answer["result"] : undefined;
  if (!Array.isArray(result)) throw new MalformedAnswerError(`expected {"result": [...]}, got ${shown(answer)}`);
  if (result.length !== queries) throw new MalformedAnswerError(`${result.length} result lists for ${queries} queries`);
  return result.map((list: unknown, query) => {
    if (!Array.isArray(list)) throw new MalformedAnswerError(`result[${query}]: expected a list, got ${shown(list)}`);
    const items = list.map((item: unknown, index) => readItem(item, `result[${query}][${index}]`));
    return items
      .filter(({ score }) => score === undefined || Math.abs(score) < fillerScore)
      .slice(0, topK)
      .map(({ document, score }, index): Candidate => ({ document, score: score ?? 1 / (index + 1), rank: index + 1 }));
  });
}

function readItem(item: unknown, place: string): { readonly document: Document; readonly score?: number } {
  if (!isRecord(item)) throw new MalformedAnswerError(`${place}: expected a document, got ${shown(item)}`);
  if (!("document" in item)) return { document: readDocument(item, place) };
  const { document, score } = item;
  if (!isRecord(document)) throw new MalformedAnswerError(`${place}.document: expected an object, got ${shown(document)}`);
  if (score === undefined || score === null) return { document: readDocument(document, `${place}.document`) };
  if (typeof score !== "number") throw new MalformedAnswerError(`${place}.score: expected a number, got ${shown(score)}`);
  return { document: readDocument(document, `${place}.document`), score };
}

function readDocument(record: Readonly<Record<string, unknown>>, place: string): Document {
  const { title, text, contents } = record;
  const body =
    typeof text === "string"
      ? { title: typeof title === "string" ? title : "", text }
      : typeof contents === "string"
        ? splitContents(contents)
        : undefined;
  if (body === undefined) throw new MalformedAnswerError(`${place}: expected contents or text, got ${shown(record)}`);
  return { id: readId(record) ?? idOfText(body), ...body };
}

function readId(record: Readonly<Record<string, unknown>>): string | undefined {
  for (const name of ["id", "_id", "docid"]) {
    const id = record[name];
    if (typeof id === "number" || (typeof id === "string" && id !== "")) return String(id);
  }
  return undefined;
}

/** The same passage gets the same id in every answer. */
function idOfText({ title, text }: { readonly title: string; readonly text: string }): string {
  const digest = createHash("sha256").update(`${title}\n${text}`).digest("hex");
  return `sha256-${digest.slice(0, 24)}`;
}
