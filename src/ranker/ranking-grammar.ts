/** The ranker's output as a grammar over tokens, for vocabularies in which every tag and label is one token (App. A.2). */
import type { GrammarState, TokenGrammar } from "../engine/engine.ts";
import { labelPiece, nonTextTokens, tagToken } from "../engine/grammar.ts";
import type { Renderer } from "../engine/renderer.ts";

/**
 * `<reason> (text | label)+ </reason> <rerank> label ( > label)* </rerank>` with exactly `picks` distinct labels among 1..candidates.
 * @throws ConfigError when a tag or label is not one token.
 */
export function rankingGrammar(renderer: Renderer, candidates: number, picks: number): TokenGrammar {
  const token = (tag: string) => tagToken(renderer, tag, "ranker.grammar");
  const labels = Array.from({ length: candidates }, (_, index) => token(labelPiece(renderer, index + 1)));
  const separator = token([" >", ">", " > "].find((piece) => renderer.tokenId(piece) !== undefined) ?? " >");
  const anyLabel = (next: number) => labels.map((id) => [id, next] as const);
  const states: GrammarState[] = [
    { onToken: [[token("<reason>"), 1]] },
    { onText: 2, onToken: anyLabel(2) },
    { onText: 2, onToken: [...anyLabel(2), [token("</reason>"), 3]] },
    { onToken: [[token("<rerank>"), 4]] },
  ];
  for (let pick = 1; pick <= picks; pick++) {
    states.push({ onToken: anyLabel(states.length + 1), distinct: true });
    states.push({ onToken: [[pick === picks ? token("</rerank>") : separator, states.length + 1]] });
  }
  states.push({ onToken: [] });
  return { id: `ranking:${candidates}:${picks}`, start: 0, states, reservedTokenIds: nonTextTokens(renderer) };
}
