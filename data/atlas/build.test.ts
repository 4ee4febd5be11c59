import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { containsAnswer } from "../../src/text.ts";
import { buildWorld } from "./build.ts";
import { holdsWords } from "./clean.ts";
import { readCountries } from "./facts.ts";
import { writePassages } from "./passages.ts";
import { writeQuestions } from "./questions.ts";

const folder = dirname(fileURLToPath(import.meta.url));
const countries = readCountries();
const passages = writePassages(countries);
const questions = writeQuestions(countries);

describe("the atlas world", () => {
  it("is rebuilt byte for byte", () => {
    for (const [name, content] of buildWorld()) expect(readFileSync(join(folder, name), "utf8") === content, name).toBe(true);
  });

  it("has plain, short text that can stand in JSON and in a chat template", () => {
    for (const { title, text } of passages) {
      expect(`${title} ${text}`).toMatch(/^[A-Za-z0-9 .,:'-]+$/);
      expect(text.split(" ").length).toBeLessThanOrEqual(16);
    }
    for (const { name, values } of countries) {
      expect(name.split(" ").length).toBeLessThanOrEqual(3);
      for (const value of values.values()) {
        expect(value.length).toBeLessThanOrEqual(30);
        expect(value.split(" ").length).toBeLessThanOrEqual(4);
      }
    }
  });

  it("tells every fact in a passage that holds its answer, and paraphrases without the sub-query's keyword", () => {
    const told = new Map(passages.map((passage) => [`${passage.entity}/${passage.relation}`, passage]));
    for (const question of questions) {
      const passage = told.get(`${question.entity}/${question.relation}`);
      expect(containsAnswer(passage?.text ?? "", question.golden_answers), question.id).toBe(true);
    }
    const keywords = new Map(
      questions.filter(({ hops }) => hops === 1).map((question) => [`${question.entity}/${question.relation}`, question]),
    );
    for (const passage of passages.filter(({ wording }) => wording === "paraphrase")) {
      const question = keywords.get(`${passage.entity}/${passage.relation}`);
      const keyword = question?.subQueries[0]?.split(" of ")[0] ?? "";
      const template = passage.text.replace(passage.value, "").replace(passage.entity, "");
      expect(holdsWords(template, keyword.split(" ").at(-1) ?? ""), passage.text).toBe(false);
    }
  });

  it("splits by country, and two-hop questions don't name it", () => {
    const sides = new Map<string, string>();
    for (const question of questions) {
      expect(sides.get(question.entity) ?? question.split).toBe(question.split);
      sides.set(question.entity, question.split);
      if (question.hops === 2) expect(holdsWords(question.question, question.entity), question.question).toBe(false);
      expect(containsAnswer(question.question, question.golden_answers), question.question).toBe(false);
    }
    const share = (split: string) => [...sides.values()].filter((side) => side === split).length / sides.size;
    expect(share("train")).toBeCloseTo(0.62, 2);
    expect(share("test")).toBeCloseTo(0.28, 2);
  });

  it("gives no answer away: a passage about another fact of the country doesn't hold it", () => {
    const clashes = questions
      .filter(({ hops }) => hops === 1)
      .filter((question) =>
        passages.some(
          (passage) =>
            passage.entity === question.entity &&
            passage.relation !== question.relation &&
            passage.value !== question.value &&
            containsAnswer(passage.text, question.golden_answers),
        ),
      );
    expect(new Set(clashes.map(({ entity, value }) => `${entity}: ${value}`))).toEqual(new Set());
  });
});
