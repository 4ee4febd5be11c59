/**
 * Demonstrations for the supervised warm start of the tiny models: how an agent searches and how a ranker orders, told over
 * the training questions, with fictitious names spliced into half of them so that copying, not memory, is learnt.
 */
import type { AgentProtocol } from "../../src/agent/protocol.ts";
import type { Renderer } from "../../src/engine/renderer.ts";
import type { Rng } from "../../src/rng.ts";
import type { Demonstration } from "../../src/training/warm-start.ts";
import type { Candidate, Document } from "../../src/types.ts";
import { type NameForge, type Substitution, splice } from "./splice.ts";
import { label, pieces } from "./vocabulary.ts";
import type { AtlasQuestion, AtlasWorld } from "./world.ts";

/** What demonstrations are written with: the world, and a run's own protocols and retriever. */
export interface DemonstrationTools {
  readonly world: AtlasWorld;
  readonly renderer: Renderer;
  readonly protocol: AgentProtocol;
  /** The ranker's prompt, exactly as in a run. */
  readonly rankerPrompt: (question: string, query: string, documents: readonly Document[]) => number[];
  /** The retriever's top N. */
  readonly candidates: (query: string) => Promise<readonly Candidate[]>;
  readonly forge: NameForge;
  /** Documents shown to the agent. */
  readonly topK: number;
  readonly maxSearches: number;
  /** Share of demonstrations with spliced names. */
  readonly spliceShare: number;
  /** Loss weight of tokens that the model does not write. */
  readonly contextWeight: number;
}

class Writer {
  readonly tokenIds: number[] = [];
  readonly weights: number[] = [];
  readonly targets: number[] = [];

  add(tokenIds: readonly number[], weight: number): void {
    for (const tokenId of tokenIds) {
      this.tokenIds.push(tokenId);
      this.weights.push(weight);
      this.targets.push(-1);
    }
  }
}

/** The piece's token id; every piece is in the vocabulary by construction. */
export function pieceId(renderer: Renderer, piece: string): number {
  const tokenId = renderer.tokenId(piece);
  if (tokenId === undefined) throw new Error(`the tokenizer has no single token for ${JSON.stringify(piece)}: rebuild it`);
  return tokenId;
}

function substitutionsFor(question: AtlasQuestion, tools: DemonstrationTools, rng: Rng): Substitution[] {
  if (rng.uniform() >= tools.spliceShare) return [];
  const containsWords = (text: string, words: string) => ` ${text.toLowerCase()} `.includes(` ${words.toLowerCase()} `);
  const substitutions: Substitution[] = [[question.value, tools.forge.like(question.value, rng)]];
  if (!containsWords(question.value, question.entity)) substitutions.push([question.entity, tools.forge.name(rng)]);
  const bridge = question.bridgeValue;
  if (bridge !== undefined && bridge !== question.value && bridge !== question.entity)
    substitutions.push([bridge, tools.forge.like(bridge, rng)]);
  return substitutions.sort(([left], [right]) => right.length - left.length);
}

const spliceDocument = (document: Document, substitutions: readonly Substitution[]): Document =>
  substitutions.length === 0
    ? document
    : { id: document.id, title: splice(document.title, substitutions), text: splice(document.text, substitutions) };

/** What an observation shows in a demonstration: between an unaided retriever's top K and an oracle's. */
function shownCandidates(candidates: readonly Candidate[], gold: readonly Candidate[], tools: DemonstrationTools, rng: Rng): Candidate[] {
  const top = candidates.slice(0, tools.topK);
  const goldOnTop = top.some((candidate) => gold.includes(candidate));
  const others = candidates.filter((candidate) => !gold.includes(candidate));
  let shown = top;
  if (!goldOnTop && gold.length > 0 && rng.uniform() < 0.6) shown = [rng.pick(gold), ...rng.shuffle(others).slice(0, tools.topK - 1)];
  else if (goldOnTop && rng.uniform() < 0.2) shown = rng.shuffle(others).slice(0, tools.topK);
  return rng.uniform() < 0.5 ? rng.shuffle(shown) : shown;
}

/** A whole trajectory: search, read, try the other wording when nothing fits, follow the bridge, answer. */
export async function agentDemonstration(question: AtlasQuestion, tools: DemonstrationTools, rng: Rng): Promise<Demonstration> {
  const { renderer, protocol, world } = tools;
  const substitutions = substitutionsFor(question, tools, rng);
  const data = (text: string) => renderer.encodeData(splice(text, substitutions));
  const piece = (text: string) => pieceId(renderer, text);
  const writer = new Writer();
  writer.add(protocol.promptTokens({ ...question, question: splice(question.question, substitutions) }), tools.contextWeight);
  let hop = 0;
  let alternative = rng.uniform() < 0.2;
  let thought = question.hops === 2 ? "find the country" : "search it";
  let answer = "unknown";
  for (let searches = 0; searches < tools.maxSearches; searches++) {
    const query = world.subQuery(question, hop, alternative);
    writer.add(
      [piece(pieces.reason), ...data(thought), piece(pieces.reasonEnd), piece(pieces.search), ...data(query), piece(pieces.searchEnd)],
      1,
    );
    const candidates = await tools.candidates(query);
    const gold = candidates.filter((candidate) => world.isGold(question, hop, candidate.document));
    const shown = shownCandidates(candidates, gold, tools, rng);
    const documents = shown.map((candidate) => spliceDocument(candidate.document, substitutions));
    writer.add(protocol.observationTokens(documents, piece(pieces.searchEnd)), tools.contextWeight);
    const found = shown.some((candidate) => gold.includes(candidate));
    if (found && hop === question.hops - 1) {
      answer = question.value;
      thought = "found it";
      break;
    }
    if (found) {
      hop++;
      thought = `the country is ${question.entity}`;
      alternative = rng.uniform() < 0.2;
    } else {
      thought = "not found";
      alternative = !alternative;
    }
  }
  writer.add(
    [piece(pieces.reason), ...data(thought), piece(pieces.reasonEnd), piece(pieces.answer), ...data(answer), piece(pieces.answerEnd)],
    1,
  );
  return { tokenIds: writer.tokenIds, weights: writer.weights };
}

/** What a ranker demonstration shows and weighs. */
export interface RankerDemonstrationOptions {
  /** Share of two-hop questions shown at their first hop. */
  readonly firstHopShare: number;
  /** Loss weight of the prompt's own tokens: the ranker starts from weights that know them already. */
  readonly promptWeight: number;
  /** Loss weight of the auxiliary relevant / irrelevant label at the `[i]`s of the prompt. */
  readonly auxiliaryWeight: number;
}

/** How early a document stands in the demonstrated order: 2 gold, 1 speaks of what this hop is about, 0 the rest. */
function plausibility(question: AtlasQuestion, hop: number, document: Document, world: AtlasWorld): number {
  if (world.isGold(question, hop, document)) return 2;
  return world.mentions(document, hop === question.hops - 1 ? question.entity : (question.bridgeValue ?? question.entity)) ? 1 : 0;
}

/** One ranker call: a one-line reason that names the fitting passage, then K labels, the second one the next most plausible. */
export async function rankerDemonstration(
  question: AtlasQuestion,
  tools: DemonstrationTools,
  rng: Rng,
  options: RankerDemonstrationOptions,
): Promise<Demonstration> {
  const { renderer, world } = tools;
  const substitutions = substitutionsFor(question, tools, rng);
  const data = (text: string) => renderer.encodeData(splice(text, substitutions));
  const piece = (text: string) => pieceId(renderer, text);
  const hop = question.hops === 2 && rng.uniform() < options.firstHopShare ? 0 : question.hops - 1;
  const query = world.subQuery(question, hop, rng.uniform() < 0.3);
  const retrieved = await tools.candidates(query);
  const candidates = rng.uniform() < 0.6 ? rng.shuffle(retrieved) : retrieved.slice();
  const scores = candidates.map((candidate) => plausibility(question, hop, candidate.document, world));
  const order = rng
    .shuffle(candidates.map((_, index) => index))
    .sort((left, right) => (scores[right] as number) - (scores[left] as number));
  const anyGold = scores.includes(2);
  const documents = candidates.map((candidate) => spliceDocument(candidate.document, substitutions));
  const writer = new Writer();
  writer.add(tools.rankerPrompt(splice(question.question, substitutions), splice(query, substitutions), documents), options.promptWeight);
  markRelevance(writer, scores, options.auxiliaryWeight, renderer);

  const ranked = order.slice(0, tools.topK).map((index) => index + 1);
  const first = label(ranked[0] as number);
  writer.add([piece(pieces.reason)], 0.5);
  if (anyGold) writer.add([piece(first)], 5);
  writer.add(data(anyGold ? "fits" : "no fit"), anyGold ? 0.5 : 2);
  writer.add([piece(pieces.reasonEnd), piece(pieces.rerank)], 0.5);
  for (const [place, rank] of ranked.entries()) {
    if (place > 0) writer.add([piece(pieces.better)], 0.5);
    const sure = (scores[rank - 1] as number) === 2;
    writer.add([piece(label(rank))], sure ? 2 : scores[rank - 1] === 1 ? 0.3 : 0.05);
  }
  writer.add([piece(pieces.rerankEnd)], 0.5);
  return { tokenIds: writer.tokenIds, weights: writer.weights, targets: writer.targets };
}

/**
 * At every `[i]` of the prompt but the last (it stands after its passage) the next token is replaced, as a target only, by a verdict on
 * passage i: ` >` for relevant, `<documents>` for not. It teaches the label's position to hold the passage's relevance.
 */
function markRelevance(writer: Writer, scores: readonly number[], weight: number, renderer: Renderer): void {
  if (weight === 0) return;
  const ranks = new Map(scores.map((_, index) => [pieceId(renderer, label(index + 1)), index]));
  const relevant = pieceId(renderer, pieces.better);
  const irrelevant = pieceId(renderer, pieces.documents);
  for (let position = 0; position + 1 < writer.tokenIds.length; position++) {
    const index = ranks.get(writer.tokenIds[position] as number);
    if (index === undefined) continue;
    const isGold = scores[index] === 2;
    writer.targets[position + 1] = isGold ? relevant : irrelevant;
    writer.weights[position + 1] = weight * (isGold ? 2 : 0.4);
  }
}
