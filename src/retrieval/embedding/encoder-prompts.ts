import type { EncoderFamily } from "./encoder-families.ts";

/** Names of prompts, in the order in which sentence-transformers looks for them; then names that models use besides. */
const queryNames = ["query", "search_query", "s2p_query"];
const documentNames = ["document", "passage", "corpus", "search_document"];

/**
 * The prefixes of queries and documents: those of config_sentence_transformers.json where it has any, else the family's. Empty prompts say
 * nothing: sentence-transformers adds such by itself; `default_prompt_name` is for texts that are neither.
 * @param settings The parsed file; undefined: there is none.
 */
export function promptPrefixes(
  settings: Readonly<Record<string, unknown>> | undefined,
  family: EncoderFamily,
): { readonly queryPrefix: string; readonly documentPrefix: string } {
  const prompts = textsOf(settings?.["prompts"]);
  if ([...prompts.values()].every((prompt) => prompt === "")) return family;
  const first = (names: readonly string[]) => names.map((name) => prompts.get(name)).find((prompt) => prompt) ?? "";
  return { queryPrefix: first(queryNames), documentPrefix: first(documentNames) };
}

function textsOf(value: unknown): ReadonlyMap<string, string> {
  if (typeof value !== "object" || value === null) return new Map();
  return new Map(Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}
