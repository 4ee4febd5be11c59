import type { Action } from "../types.ts";

/** Who talks how: the paper's own protocol, or Search-R1's (App. A.1). */
export type AgentProtocolName = "cosearch" | "search-r1";

/**
 * Reads one assistant turn (Section 3.2, App. A.1). Whatever the text holds, it is read or called malformed; nothing is thrown.
 * - `cosearch` (default): exactly two blocks, a non-blank `<reason>`, then a `<tool_call>` with the JSON of a search or an
 *   `<answer>`. White space around and between the blocks is free; any other text or tag is malformed.
 * - `search-r1`: an optional `<think>` block, then a `<search>` or an `<answer>` block; the first closed one decides and
 *   what follows it is not read.
 * Queries and answers are trimmed and never empty.
 */
export function parseTurn(text: string, protocol: AgentProtocolName = "cosearch"): Action {
  return protocol === "cosearch" ? parseCosearch(text) : parseSearchR1(text);
}

const cosearchTag = /<\/?(?:reason|tool_call|tool_response|answer)>/;
const searchR1Tag = /<\/?(?:think|search|information|answer)>/;

function parseCosearch(text: string): Action {
  const blocks = /^\s*<reason>([\s\S]*?)<\/reason>\s*<(tool_call|answer)>([\s\S]*?)<\/\2>\s*$/.exec(text);
  if (!blocks) return malformed("expected one <reason> block followed by one <tool_call> or <answer> block and nothing else");
  const [, reason = "", tag = "", body = ""] = blocks;
  // The lazy bodies above stretch over nested and further blocks rather than fail; here those are found.
  if (cosearchTag.test(reason) || cosearchTag.test(body))
    return malformed("a tag stands inside a block, or there is more than one block of a kind");
  if (reason.trim() === "") return malformed("the <reason> block is blank");
  return tag === "answer" ? answerAction(body) : toolCallAction(body);
}

function toolCallAction(body: string): Action {
  const form = 'the <tool_call> block must hold exactly {"name": "search", "arguments": {"query": "..."}}';
  let call: unknown;
  try {
    call = JSON.parse(body);
  } catch {
    return malformed(`${form}: this is not JSON`);
  }
  // JSON.parse keeps the last of two equal keys; counting the string literals finds the other.
  const literals = body.match(/"(?:[^"\\]|\\.)*"/g) ?? [];
  if (!hasExactly(call, ["name", "arguments"]) || !hasExactly(call.arguments, ["query"]) || literals.length !== 5) {
    return malformed(`${form}: keys are missing, doubled or too many`);
  }
  if (call.name !== "search") return malformed(`${form}: the only tool is search`);
  const { query } = call.arguments;
  if (typeof query !== "string") return malformed(`${form}: the query is not a string`);
  if (cosearchTag.test(query)) return malformed("a tag stands inside the query");
  return searchAction(query);
}

function parseSearchR1(text: string): Action {
  const block = /<(search|answer)>([\s\S]*?)<\/\1>/.exec(text);
  if (!block) return malformed("expected a closed <search> or <answer> block");
  const [, tag, body = ""] = block;
  const before = text.slice(0, block.index).trim();
  const thought = /^<think>([\s\S]*?)(?:<\/think>([\s\S]*))?$/.exec(before);
  if (before !== "" && !thought) return malformed("text before the <search> or <answer> block must be one <think> block");
  if (thought && (thought[1] ?? "").trim() === "") return malformed("the <think> block is blank");
  if (thought?.[2]?.trim()) return malformed("there is text between the <think> block and the next one");
  if (searchR1Tag.test(body)) return malformed("a tag stands inside a block");
  return tag === "answer" ? answerAction(body) : searchAction(body);
}

function searchAction(query: string): Action {
  return query.trim() === "" ? malformed("the query is empty") : { kind: "search", query: query.trim() };
}

function answerAction(answer: string): Action {
  return answer.trim() === "" ? malformed("the answer is empty") : { kind: "answer", answer: answer.trim() };
}

function hasExactly<Key extends string>(value: unknown, keys: readonly Key[]): value is Record<Key, unknown> {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return false;
  return Object.keys(value).length === keys.length && keys.every((key) => Object.hasOwn(value, key));
}

function malformed(reason: string): Action {
  return { kind: "malformed", reason };
}
