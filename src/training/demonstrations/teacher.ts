/** A teacher in the agent's place: it searches, reads what it is shown and answers when it has read the answer. One instance is one trajectory. */
import { cutDocuments } from "../../agent/agent-protocol.ts";
import type { AgentProtocol } from "../../agent/protocol.ts";
import type { SampleRequest, Sampler } from "../../engine/engine.ts";
import type { Renderer } from "../../engine/renderer.ts";
import type { Retriever } from "../../retrieval/retriever.ts";
import type { Search } from "../../retrieval/search.ts";
import type { Rng } from "../../rng.ts";
import { containsAnswer, isTrivialAnswer } from "../../text.ts";
import type { Document, Question, SampledTokens } from "../../types.ts";
import { answerAsWritten, quoteOf, writable } from "./evidence.ts";
import { evidenceOrder } from "./evidence-order.ts";
import type { QuestionHints } from "./hints.ts";
import { QueryPlan } from "./query-plan.ts";
import { NoDemonstration, type PlannedTurn, writeTurn } from "./turn-text.ts";

/** What all demonstrations of a configuration share. */
export interface TeacherTools {
  readonly protocol: AgentProtocol;
  readonly renderer: Renderer;
  readonly retriever: Retriever;
  /** N: candidates retrieved. */
  readonly candidates: number;
  /** K: documents shown. */
  readonly topK: number;
  readonly observationCharacters: number;
  readonly maxSearches: number;
}

/** Share of the searches that show the retriever's own order: not every search finds what is looked for. */
const unaidedShare = 0.3;

/** A passage that holds what was looked for. */
interface Finding {
  /** Its place in the observation, from 1. */
  readonly label: number;
  readonly document: Document;
}

/** A sampler and a search function for one rollout. */
export class Teacher implements Sampler {
  private searches = 0;
  private shown: readonly Document[] = [];
  private readonly plan: QueryPlan;
  private readonly plain: boolean;

  constructor(
    private readonly question: Question,
    private readonly hints: QuestionHints,
    private readonly tools: TeacherTools,
    private readonly rng: Rng,
  ) {
    this.plain = tools.protocol.grammar !== undefined;
    this.plan = new QueryPlan(question, hints, tools.maxSearches, rng);
  }

  /** @throws NoDemonstration when the answer was not found, or can't be written. */
  async sample({ maxTokens }: SampleRequest): Promise<SampledTokens[]> {
    const turn = this.nextTurn();
    const { protocol, renderer } = this.tools;
    const reasons = turn.reasons.map((reason) => writable(reason, this.plain));
    const text = turn.kind === "search" || this.plain ? writable(turn.text, this.plain) : turn.text;
    return [writeTurn({ ...turn, reasons, text }, protocol, renderer, maxTokens)];
  }

  async close(): Promise<void> {}

  /** What holds the answer comes first, except in a share of the searches; the last search is always aided. */
  readonly search: Search = async ({ query }) => {
    const { retriever, candidates: count, topK, observationCharacters, maxSearches } = this.tools;
    const [candidates = []] = await retriever.search([query], count);
    const aided = this.rng.uniform() >= unaidedShare || this.searches + 1 >= maxSearches;
    const documents = candidates.map(({ document }) => document);
    const ordered = aided ? evidenceOrder(documents, this.plan.wanted, this.hints.titles) : documents;
    const observation = ordered.slice(0, topK);
    this.searches++;
    this.shown = cutDocuments(observation, observationCharacters);
    this.plan.read(this.shown);
    return { query, candidates, observation };
  };

  private nextTurn(): PlannedTurn {
    if (this.searches === 0) return this.searchTurn([this.rng.pick(firstThoughts)]);
    const finding = this.finding();
    if (this.plan.isLastHop) {
      if (this.isChoice) {
        if (this.plan.hasReadAll) return this.answerTurn(this.question.goldAnswers[0] as string, finding);
      } else if (finding) return this.answerTurn(answerAsWritten(finding.document.text, this.question.goldAnswers), finding);
    } else if (finding) {
      const said = this.saying(finding);
      this.plan.nextHop();
      return this.searchTurn(said);
    }
    const bridge = this.plan.bridgeIn(this.shown);
    if (bridge !== undefined) return this.searchTurn([`${this.label(bridge.label)} names ${bridge.title}. I look it up.`], bridge.title);
    return this.searchTurn([this.rng.pick(nextThoughts)]);
  }

  /** Answered by weighing what was read: yes or no, or one of the things that the question itself names. */
  private get isChoice(): boolean {
    const { question, goldAnswers } = this.question;
    return isTrivialAnswer(goldAnswers) || containsAnswer(question, goldAnswers);
  }

  private finding(): Finding | undefined {
    const { wanted } = this.plan;
    if (isTrivialAnswer(wanted)) return undefined;
    const found = this.shown.flatMap((document, index) => (containsAnswer(document.text, wanted) ? [{ label: index + 1, document }] : []));
    return found.find(({ document }) => this.hints.titles.includes(document.title)) ?? found[0];
  }

  private searchTurn(reasons: readonly string[], title?: string): PlannedTurn {
    if (this.searches >= this.tools.maxSearches) throw new NoDemonstration("the answer was not found");
    return { kind: "search", reasons: [...reasons, "I search for it."], text: this.plan.next(title) };
  }

  private answerTurn(answer: string, finding: Finding | undefined): PlannedTurn {
    const reasons = finding ? [...this.saying(finding), "I found it."] : ["I have read enough to answer.", "I know it now."];
    return { kind: "answer", reasons, text: answer };
  }

  /** The same, shorter and shorter. */
  private saying({ label, document }: Finding): string[] {
    const quotes = [28, 14, 8].flatMap((most) => quoteOf(document.text, this.plan.wanted, most) ?? []);
    return [...quotes.map((quote) => `${this.label(label)} says: ${quote}`), `${this.label(label)} says it.`];
  }

  /** Labels are tokens of their own where a grammar is on, and no text then. */
  private label(label: number): string {
    return this.plain ? "It" : `[${label}]`;
  }
}

const firstThoughts = ["I need to look this up.", "I search for what is asked.", "I need to find this out.", "First I look for it."];
const nextThoughts = ["The documents do not say it. I search again.", "Not found yet. I try other words.", "I need to know more."];
