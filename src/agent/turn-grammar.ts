/** The agent's turn as a grammar over tokens, for vocabularies in which every tag is one token (App. A.1). */
import type { TokenGrammar } from "../engine/engine.ts";
import { nonTextTokens, tagToken } from "../engine/grammar.ts";
import type { Renderer } from "../engine/renderer.ts";
import type { ProtocolTags } from "./protocol-tags.ts";

/**
 * One reason block, then a search or an answer, each with at least one text token:
 * 0 -reason-> 1 text+ 2 -/reason-> 3 -search-> 4 text+ 5 -/search-> 8, or 3 -answer-> 6 text+ 7 -/answer-> 8.
 * @throws ConfigError when a tag is not one token.
 */
export function turnGrammar(renderer: Renderer, tags: ProtocolTags): TokenGrammar {
  const token = (tag: string) => tagToken(renderer, tag, "agent.grammar");
  const [reasonOpen, reasonClose] = tags.reason.map(token) as [number, number];
  const [searchOpen, searchClose] = tags.search.map(token) as [number, number];
  const [answerOpen, answerClose] = tags.answer.map(token) as [number, number];
  return {
    id: `turn:${tags.name}`,
    start: 0,
    states: [
      { onToken: [[reasonOpen, 1]] },
      { onText: 2, onToken: [] },
      { onText: 2, onToken: [[reasonClose, 3]] },
      {
        onToken: [
          [searchOpen, 4],
          [answerOpen, 6],
        ],
      },
      { onText: 5, onToken: [] },
      { onText: 5, onToken: [[searchClose, 8]] },
      { onText: 7, onToken: [] },
      { onText: 7, onToken: [[answerClose, 8]] },
      { onToken: [] },
    ],
    reservedTokenIds: nonTextTokens(renderer),
  };
}
