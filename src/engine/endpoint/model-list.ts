import { MalformedAnswerError } from "../../endpoint/endpoint-failure.ts";
import { isRecord, shown } from "../../json-values.ts";

/** A model that a server offers. */
export interface OfferedModel {
  readonly id: string;
  /** Longest sequence, where the server tells it. */
  readonly contextTokens?: number;
}
/** What a server offers. */
export type ModelList = readonly OfferedModel[];

/** The answer of /v1/models. vLLM and SGLang tell `max_model_len`, llama.cpp `meta.n_ctx`. @throws MalformedAnswerError */
export function readModels(answer: unknown): ModelList {
  const data = isRecord(answer) ? answer["data"] : undefined;
  if (!Array.isArray(data)) throw new MalformedAnswerError(`expected {"data": [...]}, got ${shown(answer)}`);
  return data.flatMap((entry: unknown) => {
    if (!isRecord(entry) || typeof entry["id"] !== "string") return [];
    const meta = isRecord(entry["meta"]) ? entry["meta"] : {};
    const contextTokens = [entry["max_model_len"], meta["n_ctx"]].find((value): value is number => Number.isInteger(value));
    return [{ id: entry["id"], ...(contextTokens === undefined ? {} : { contextTokens }) }];
  });
}

/** `the server offers: a, b` */
export function describeModels(list: ModelList): string {
  if (list.length === 0) return "the server offers no model";
  const shownIds = list.slice(0, 20).map(({ id }) => id);
  return `the server offers: ${shownIds.join(", ")}${list.length > shownIds.length ? ` and ${list.length - shownIds.length} more` : ""}`;
}
