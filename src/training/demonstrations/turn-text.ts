/** Turns as an agent of a protocol would have sampled them, token by token. */
import type { AgentProtocol } from "../../agent/protocol.ts";
import { protocolTags } from "../../agent/protocol-tags.ts";
import type { SampleRequest } from "../../engine/engine.ts";
import type { Renderer, Segment } from "../../engine/renderer.ts";
import type { SampledTokens } from "../../types.ts";

/** A turn before it is written. */
export interface PlannedTurn {
  /** The same thought in words, the fullest first: the first that fits is taken. */
  readonly reasons: readonly string[];
  readonly kind: "search" | "answer";
  /** Query or answer. */
  readonly text: string;
}

/** Why a question gave no demonstration; the message is counted. */
export class NoDemonstration extends Error {
  override readonly name = "NoDemonstration";
}

/** The turn's tokens. @throws NoDemonstration when no form of it fits or it would not have stopped where it ends. */
export function writeTurn(turn: PlannedTurn, protocol: AgentProtocol, renderer: Renderer, maxTokens: number): SampledTokens {
  const tags = protocolTags[protocol.name];
  const [open, close] = tags[turn.kind];
  const isJson = protocol.name === "cosearch" && turn.kind === "search";
  const text = isJson ? JSON.stringify(turn.text).slice(1, -1) : turn.text;
  for (const reason of turn.reasons) {
    const tokenIds = encode([tags.reason[0], { data: reason }, `${tags.reason[1]}${open}`, { data: text }, close], renderer);
    if (tokenIds.length <= maxTokens) return asSampled(tokenIds, protocol.stop, renderer);
  }
  throw new NoDemonstration("a turn is longer than its budget");
}

/** Markup and data as one output. */
export function encode(segments: readonly Segment[], renderer: Renderer): number[] {
  return segments.flatMap((segment) => (typeof segment === "string" ? renderer.encodeMarkup(segment) : renderer.encodeData(segment.data)));
}

/** What a sampler would have delivered. @throws NoDemonstration when it would have stopped elsewhere. */
export function asSampled(tokenIds: number[], stop: NonNullable<SampleRequest["stop"]>, renderer: Renderer): SampledTokens {
  const { tokenIds: stopIds = [], strings = [] } = stop;
  const before = tokenIds.slice(0, -1);
  const text = renderer.decode(tokenIds);
  const stopped = (ids: readonly number[], said: string) =>
    ids.some((id) => stopIds.includes(id)) || strings.some((string) => said.includes(string));
  if (stopped(before, renderer.decode(before)) || !stopped(tokenIds, text)) throw new NoDemonstration("a turn would stop elsewhere");
  return { tokenIds, logprobs: tokenIds.map(() => 0), text, finishReason: "stop", policyVersion: 0 };
}
