/** The committed world as the warm start reads it: questions with their facts, and which passage tells what. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Document, Question } from "../../src/types.ts";
import type { AtlasQuestion as QuestionLine } from "./questions.ts";

/** A question with the facts behind it. */
export interface AtlasQuestion extends Question {
  readonly hops: 1 | 2;
  readonly entity: string;
  readonly relation: string;
  readonly value: string;
  readonly bridgeValue?: string;
  readonly subQueries: readonly string[];
  readonly alternativeSubQuery: string;
}

interface PassageFact {
  readonly id: string;
  readonly entity: string;
  readonly relation: string;
  readonly value: string;
}

/** Reads the committed files of the world. */
export class AtlasWorld {
  private readonly facts: ReadonlyMap<string, PassageFact>;
  readonly documents: readonly Document[];

  constructor(private readonly folder: string) {
    const { passages } = JSON.parse(readFileSync(join(folder, "facts.json"), "utf8")) as { passages: PassageFact[] };
    this.facts = new Map(passages.map((passage) => [passage.id, passage]));
    this.documents = this.lines<Document>("corpus.jsonl");
  }

  questions(split: "train" | "dev" | "test"): AtlasQuestion[] {
    return this.lines<QuestionLine>(`questions.${split}.jsonl`).map(({ golden_answers: goldAnswers, ...rest }) => ({
      ...rest,
      goldAnswers,
    }));
  }

  /** Every name that occurs in the world, entities and values. */
  names(): string[] {
    return [...this.facts.values()].flatMap(({ entity, value }) => (value === "" ? [entity] : [entity, value]));
  }

  /** The sub-query of a hop; the last one also in other words. */
  subQuery(question: AtlasQuestion, hop: number, alternative: boolean): string {
    return alternative && hop === question.hops - 1 ? question.alternativeSubQuery : (question.subQueries[hop] as string);
  }

  /** Whether the passage settles this hop: it tells the asked fact, or names the country together with the bridge. */
  isGold(question: AtlasQuestion, hop: number, document: Document): boolean {
    const fact = this.facts.get(document.id);
    if (fact === undefined || fact.entity !== question.entity) return false;
    if (hop === question.hops - 1) return fact.relation === question.relation;
    return this.mentions(document, question.bridgeValue as string);
  }

  /** Whether the passage is about this country, city or person, or tells this value. */
  mentions(document: Document, name: string): boolean {
    const fact = this.facts.get(document.id);
    return fact !== undefined && (fact.entity === name || fact.value === name);
  }

  private lines<Line>(name: string): Line[] {
    const text = readFileSync(join(this.folder, name), "utf8");
    return text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Line);
  }
}
