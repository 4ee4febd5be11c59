/** One ranker demonstration: what holds the answer first, then the retriever's order. */
import { labelPiece } from "../../engine/grammar.ts";
import type { Renderer, Segment } from "../../engine/renderer.ts";
import type { RankerProtocol } from "../../ranker/prompt.ts";
import { passageText } from "../../retrieval/passage-text.ts";
import type { Rng } from "../../rng.ts";
import type { Candidate, Question, SearchStep } from "../../types.ts";
import type { Demonstration } from "../warm-start.ts";
import { quoteOf, writable } from "./evidence.ts";
import { evidence } from "./evidence-order.ts";
import type { QuestionHints } from "./hints.ts";
import { asSampled, encode, NoDemonstration } from "./turn-text.ts";

/** What all ranker demonstrations of a configuration share. */
export interface RankerDemonstrationTools {
  readonly protocol: RankerProtocol;
  readonly renderer: Renderer;
  readonly topK: number;
  readonly maxTokens: number;
  readonly passageCharacters: number;
  readonly contextTokens?: number | undefined;
}

/** Share of the demonstrations whose candidates are shuffled: the order of the labels must not tell the ranking. */
const shuffledShare = 0.5;

/** Words of the best passage that the reason quotes, the most first. */
const quotedWords = [12, 6];

/** @throws NoDemonstration telling why there is none. */
export function rankerDemonstration(
  question: Question,
  hints: QuestionHints,
  { query, candidates: retrieved }: Pick<SearchStep, "query" | "candidates">,
  tools: RankerDemonstrationTools,
  rng: Rng,
): Demonstration {
  const { protocol, renderer, contextTokens = Number.POSITIVE_INFINITY } = tools;
  const candidates = rng.uniform() < shuffledShare ? rng.shuffle(retrieved) : retrieved;
  const ranked = candidates
    .map((candidate, index) => ({ candidate, label: index + 1, score: evidence(candidate.document, question.goldAnswers, hints.titles) }))
    .sort((left, right) => right.score - left.score || left.candidate.rank - right.candidate.rank);
  const [best] = ranked;
  if (!best) throw new NoDemonstration("nothing was retrieved");
  const piece = (label: number) => labelPiece(renderer, label);
  const separator = renderer.tokenId(" >") === undefined && !piece(1).startsWith(" ") ? " > " : " >";
  const list = ranked
    .slice(0, tools.topK)
    .map(({ label }) => piece(label))
    .join(separator);
  const prompt = protocol.prompt(question.question, query, candidates).tokenIds;
  for (const reason of reasons(
    best.candidate,
    best.score,
    question,
    piece(best.label),
    protocol.grammar(candidates.length) !== undefined,
    tools,
  )) {
    const tokenIds = encode(["<reason>", ...reason, `</reason><rerank>${list}</rerank>`], renderer);
    if (tokenIds.length > tools.maxTokens) continue;
    const { text } = asSampled(tokenIds, protocol.stop, renderer);
    if (protocol.parse(text, candidates.length).kind !== "ranked") throw new NoDemonstration("a ranking can't be written in the protocol");
    if (prompt.length + tokenIds.length > contextTokens) throw new NoDemonstration("longer than the model's context");
    return { tokenIds: [...prompt, ...tokenIds], weights: [...prompt.map(() => 0), ...tokenIds.map(() => 1)] };
  }
  throw new NoDemonstration("a ranking is longer than its budget");
}

/** The same thought, the fullest first. */
function reasons(
  { document }: Candidate,
  score: number,
  { goldAnswers }: Question,
  label: string,
  plain: boolean,
  { passageCharacters }: RankerDemonstrationTools,
): Segment[][] {
  const visible = passageText(document).slice(0, passageCharacters);
  const quotes = score >= 2 ? quotedWords.flatMap((most) => quoteOf(visible, goldAnswers, most) ?? []) : [];
  const said = quotes.map((quote): Segment[] => [label, { data: ` says: ${writable(quote, plain)}` }]);
  return [...said, [label, { data: score > 0 ? " fits best." : " is closest." }]];
}
