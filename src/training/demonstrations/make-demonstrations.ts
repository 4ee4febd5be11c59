/** Demonstrations of both policies from a configuration's own training questions and corpus. */
import { agentProtocolFor } from "../../agent/agent-protocol.ts";
import type { Config } from "../../config.ts";
import { InfrastructureError } from "../../errors.ts";
import { rankerProtocolFor } from "../../ranker/systems.ts";
import { batchedRetriever } from "../../retrieval/batched-retriever.ts";
import { Rng } from "../../rng.ts";
import type { Question } from "../../types.ts";
import { questionOrder } from "../dataset.ts";
import type { Demonstration } from "../warm-start.ts";
import type { Wiring } from "../wiring.ts";
import { type AgentDemonstration, agentDemonstration } from "./agent-demonstration.ts";
import { noHints, type QuestionHints } from "./hints.ts";
import { rankerDemonstration } from "./ranker-demonstration.ts";
import { NoDemonstration } from "./turn-text.ts";

/** What is made from what. */
export interface DemonstrationsRequest {
  readonly config: Config;
  readonly wiring: Pick<Wiring, "main" | "ranker" | "retriever" | "trainQuestions">;
  readonly hints: ReadonlyMap<string, QuestionHints>;
  /** As many agent demonstrations are enough. */
  readonly enough: number;
  readonly onProgress?: (questions: number, demonstrations: number) => void;
  readonly signal?: AbortSignal;
}

/** Demonstrations and what became of the questions. */
export interface Demonstrations {
  readonly agent: readonly Demonstration[];
  readonly ranker: readonly Demonstration[];
  /** Questions that were tried. */
  readonly questions: number;
  /** How many demonstrations there are not, by reason. */
  readonly dropped: Readonly<Record<string, number>>;
}

/** Questions demonstrated at once. */
const chunk = 64;

/** The same demonstrations for the same configuration, always. Failures are counted; where nothing works, the caller sees empty lists. */
export async function makeDemonstrations(request: DemonstrationsRequest): Promise<Demonstrations> {
  const { config, wiring, hints, enough, signal } = request;
  const demonstrate = demonstrator(config, wiring);
  const order = questionOrder(wiring.trainQuestions, config.seed, 0);
  const made: Made[] = [];
  const agents = () => made.filter(({ agent }) => agent !== undefined).length;
  for (let start = 0; start < order.length && agents() < enough && !signal?.aborted; start += chunk) {
    made.push(
      ...(await Promise.all(order.slice(start, start + chunk).map((question) => demonstrate(question, hints.get(question.id) ?? noHints)))),
    );
    request.onProgress?.(made.length, agents());
  }
  const dropped: Record<string, number> = {};
  for (const reason of made.flatMap((one) => one.dropped)) dropped[reason] = (dropped[reason] ?? 0) + 1;
  return {
    agent: made.flatMap(({ agent }) => agent ?? []),
    ranker: made.flatMap(({ ranker }) => ranker),
    questions: made.length,
    dropped,
  };
}

/** What one question gave. */
interface Made {
  readonly agent?: Demonstration;
  readonly ranker: readonly Demonstration[];
  readonly dropped: readonly string[];
}

function demonstrator(config: Config, { main, ranker, retriever }: DemonstrationsRequest["wiring"]) {
  const { topK, maxTokens, passageCharacters } = config.ranker;
  const agentTools = {
    protocol: agentProtocolFor(config, main.renderer),
    renderer: main.renderer,
    retriever: batchedRetriever(retriever),
    candidates: config.retrieval.candidates,
    topK,
    observationCharacters: config.agent.observationCharacters,
    maxSearches: config.agent.maxSearches,
  };
  const limits = { ...config.agent, contextTokens: main.contextTokens };
  const rankerTools = ranker && {
    protocol: rankerProtocolFor(config, ranker.renderer, ranker.contextTokens),
    renderer: ranker.renderer,
    contextTokens: ranker.contextTokens,
    topK,
    maxTokens,
    passageCharacters,
  };
  return async (question: Question, hints: QuestionHints): Promise<Made> => {
    const dropped: string[] = [];
    const agent = await orDropped("agent", dropped, () =>
      agentDemonstration(question, hints, agentTools, limits, Rng.stream(config.seed, "demonstration", question.id)),
    );
    if (!agent || !rankerTools) return { ...(agent ? { agent: plain(agent) } : {}), ranker: [], dropped };
    const rng = Rng.stream(config.seed, "ranker-demonstration", question.id);
    const rankings = agent.searches.map((step) =>
      orDropped("ranker", dropped, async () => rankerDemonstration(question, hints, step, rankerTools, rng)),
    );
    return { agent: plain(agent), ranker: (await Promise.all(rankings)).flatMap((one) => one ?? []), dropped };
  };
}

/** Without the searches, whose passages need not stay in memory. */
const plain = ({ tokenIds, weights }: AgentDemonstration): Demonstration => ({ tokenIds, weights });

async function orDropped<Result>(policy: string, dropped: string[], make: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await make();
  } catch (error) {
    if (error instanceof NoDemonstration) dropped.push(`${policy}: ${error.message}`);
    else if (error instanceof InfrastructureError) dropped.push(`${policy}: the retriever failed: ${error.message}`);
    else throw error;
    return undefined;
  }
}
