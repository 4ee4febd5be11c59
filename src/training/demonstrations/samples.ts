/** A few demonstrations as text, for people to look at. */

import type { Renderer } from "../../engine/renderer.ts";
import { evenlySpaced } from "../../evenly-spaced.ts";
import type { Demonstration } from "../warm-start.ts";
import type { Wiring } from "../wiring.ts";
import type { Demonstrations } from "./make-demonstrations.ts";

/** Of each policy. */
const shown = 20;

/** JSONL of {policy, tokens, pieces: [{text, taught}]}: `taught` pieces are trained on, the others are what stands before them. */
export function demonstrationSamples({ agent, ranker }: Demonstrations, wiring: Pick<Wiring, "main" | "ranker">): string {
  const lines = (policy: string, all: readonly Demonstration[], renderer: Renderer) =>
    evenlySpaced(all, shown).map((one) => `${JSON.stringify({ policy, tokens: one.tokenIds.length, pieces: pieces(one, renderer) })}\n`);
  return [...lines("agent", agent, wiring.main.renderer), ...lines("ranker", ranker, (wiring.ranker ?? wiring.main).renderer)].join("");
}

function pieces({ tokenIds, weights }: Demonstration, renderer: Renderer): { readonly text: string; readonly taught: boolean }[] {
  const found: { text: string; taught: boolean }[] = [];
  let start = 0;
  for (let end = 1; end <= tokenIds.length; end++) {
    const taught = (weights[start] as number) > 0;
    if (end < tokenIds.length && (weights[end] as number) > 0 === taught) continue;
    found.push({ text: renderer.decode(tokenIds.slice(start, end)), taught });
    start = end;
  }
  return found;
}
