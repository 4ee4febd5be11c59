/** Which query comes next: sub-questions where they are known, else the question, then titles that were met while reading. */
import type { Rng } from "../../rng.ts";
import { containsAnswer } from "../../text.ts";
import type { Document, Question } from "../../types.ts";
import { keyWords, plainTitle } from "./evidence.ts";
import type { QuestionHints, SubQuestion } from "./hints.ts";

/** Words of the question beside a title. */
const wordsBesideTitle = 6;

/** One trajectory's queries. */
export class QueryPlan {
  private hop = 0;
  private readonly asked: string[] = [];
  private readonly titlesRead = new Set<string>();
  private readonly steps: readonly SubQuestion[];

  constructor(
    private readonly question: Question,
    private readonly hints: QuestionHints,
    maxSearches: number,
    private readonly rng: Rng,
  ) {
    // A plan that is too long for the budget would never come to its end.
    this.steps = hints.steps.length <= maxSearches ? hints.steps : [];
  }

  /** What the search of this hop is to find. */
  get wanted(): readonly string[] {
    return this.isLastHop ? this.question.goldAnswers : [(this.steps[this.hop] as SubQuestion).answer];
  }

  get isLastHop(): boolean {
    return this.hop >= this.steps.length - 1;
  }

  nextHop(): void {
    this.hop++;
  }

  /** Takes note of what was shown. */
  read(documents: readonly Document[]): void {
    for (const { title } of documents) this.titlesRead.add(title);
  }

  /** Whether the known passages that the question names (all known ones, if it names none) were shown. */
  get hasReadAll(): boolean {
    const named = this.hints.titles.filter((title) => this.names(title));
    return (named.length > 0 ? named : this.hints.titles).every((title) => this.titlesRead.has(title));
  }

  /** A known title that a shown passage mentions and that was not shown itself; `label`: the passage's place, from 1. */
  bridgeIn(documents: readonly Document[]): { readonly title: string; readonly label: number } | undefined {
    if (this.steps.length > 0) return undefined;
    for (const title of this.hints.titles) {
      if (this.titlesRead.has(title)) continue;
      const at = documents.findIndex(({ text }) => containsAnswer(text, [plainTitle(title)]));
      if (at >= 0) return { title: plainTitle(title), label: at + 1 };
    }
    return undefined;
  }

  /** The next query, never one that was asked before where there is another. `title`: what it is to be about. */
  next(title?: string): string {
    const options = title === undefined ? this.options() : [this.about(title)];
    const query = options.find((option) => !this.asked.includes(option)) ?? (options[0] as string);
    this.asked.push(query);
    return query;
  }

  private options(): string[] {
    const step = this.steps[this.hop];
    if (step !== undefined) {
      const asked = step.question.replace(/#(\d+)/g, (mark, number) => this.steps[Number(number) - 1]?.answer ?? mark);
      return [asked, keyWords(asked, "", 12) || asked, this.question.question];
    }
    const named = this.hints.titles
      .filter((title) => this.names(title) && !this.titlesRead.has(title))
      .map((title) => this.about(plainTitle(title)));
    const met = [...this.titlesRead].map((title) => this.about(plainTitle(title)));
    const { question } = this.question;
    const words = keyWords(question, "", 12) || question;
    if (this.asked.length > 0) return [...named, words, ...met, question];
    return this.rng.uniform() < 0.5 ? [...named, question] : [question];
  }

  private names(title: string): boolean {
    return containsAnswer(this.question.question, [plainTitle(title)]);
  }

  private about(title: string): string {
    return `${title} ${keyWords(this.question.question, title, wordsBesideTitle)}`.trim();
  }
}
