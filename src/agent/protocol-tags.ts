import type { AgentProtocolName } from "./parse-turn.ts";

/** Opening and closing piece of every block that the agent writes. */
export interface ProtocolTags {
  readonly name: AgentProtocolName;
  readonly reason: readonly [string, string];
  readonly search: readonly [string, string];
  readonly answer: readonly [string, string];
}

/** The blocks of both protocols (App. A.1; Search-R1's own tags for the other). */
export const protocolTags: Record<AgentProtocolName, ProtocolTags> = {
  cosearch: {
    name: "cosearch",
    reason: ["<reason>", "</reason>"],
    search: ['<tool_call>{"name":"search","arguments":{"query":"', '"}}</tool_call>'],
    answer: ["<answer>", "</answer>"],
  },
  "search-r1": {
    name: "search-r1",
    reason: ["<think>", "</think>"],
    search: ["<search>", "</search>"],
    answer: ["<answer>", "</answer>"],
  },
};
