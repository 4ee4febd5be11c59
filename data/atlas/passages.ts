/** The passages: one sentence a telling of a fact, and passages about cities, people and mere outlines of topics. */
import { Rng } from "../../src/rng.ts";
import type { Document } from "../../src/types.ts";
import { slug } from "./clean.ts";
import { type Country, worldSeed } from "./facts.ts";
import { city, fillSentence, inSentence, person, type Relation, relations } from "./relations.ts";

/** How a passage tells its fact: with the sub-query's keyword, without it, from the side of a bridge, or not at all. */
export type Wording = "lexical" | "paraphrase" | "bridge" | "outline";

/** A passage of the corpus with the fact behind it. */
export interface Passage extends Document {
  /** The country. */
  readonly entity: string;
  /** A relation id, `city`, `person` or `outline`. */
  readonly relation: string;
  /** Empty for outlines. */
  readonly value: string;
  readonly wording: Wording;
}

/**
 * How a fact is told, for a uniform draw below each bound: once with the keyword (38 %), once without (28 %), in both ways (24 %), or twice
 * without (10 %). A third of the facts have two passages, so that a second place on the shown list is worth something.
 */
const tellings: readonly { readonly below: number; readonly wordings: readonly ("lexical" | "paraphrase")[] }[] = [
  { below: 0.38, wordings: ["lexical"] },
  { below: 0.66, wordings: ["paraphrase"] },
  { below: 0.9, wordings: ["lexical", "paraphrase"] },
  { below: 1, wordings: ["paraphrase", "paraphrase"] },
];

/** Share of countries with an outline: the topics' keywords and the country's name, but no answer. */
const outlineShare = 0.5;
const outlineTopics = 5;

/** Every passage of the world, country by country; all draws come from named streams. */
export function writePassages(countries: readonly Country[]): Passage[] {
  const leaders = countries.map((country) => country.values.get("leader"));
  return countries.flatMap((country) => [
    ...relations.flatMap((relation) => tellFact(country, relation)),
    ...outline(country),
    ...country.cities.map((name) => aside(country, "city", name, city.sentences)),
    ...[country.values.get("leader")]
      .filter((name): name is string => name !== undefined && leaders.filter((leader) => leader === name).length === 1)
      .map((name) => aside(country, "person", name, person.sentences)),
  ]);
}

function tellFact(country: Country, relation: Relation): Passage[] {
  const value = country.values.get(relation.id);
  if (value === undefined) return [];
  const draw = Rng.stream(worldSeed, "telling", country.name, relation.id);
  const chance = draw.uniform();
  const wordings = tellings.find(({ below }) => chance < below)?.wordings ?? [];
  const sentences = { lexical: draw.shuffle(relation.lexical), paraphrase: draw.shuffle(relation.paraphrases) };
  return wordings.map((wording, index) => ({
    id: passageId(country.name, relation.id, index + 1),
    title: country.name,
    text: fillSentence(sentences[wording].pop() ?? "", country.name, value),
    entity: country.name,
    relation: relation.id,
    value,
    wording,
  }));
}

function outline(country: Country): Passage[] {
  const draw = Rng.stream(worldSeed, "outline", country.name);
  if (draw.uniform() >= outlineShare) return [];
  const told = relations.filter((relation) => country.values.has(relation.id));
  const topics = draw.shuffle(told.map((relation) => relation.topic)).slice(0, outlineTopics);
  const text = `Topics: ${topics.slice(0, -1).join(", ")} and ${topics.at(-1)} of ${inSentence(country.name)}.`;
  const id = passageId(country.name, "outline", 1);
  return [{ id, title: `Outline of ${country.name}`, text, entity: country.name, relation: "outline", value: "", wording: "outline" }];
}

function aside(country: Country, relation: string, name: string, sentences: readonly string[]): Passage {
  const text = fillSentence(Rng.stream(worldSeed, relation, name).pick(sentences), country.name, name);
  const id = passageId(name, relation, 1, country.name);
  return { id, title: name, text, entity: country.name, relation, value: name, wording: "bridge" };
}

function passageId(...parts: readonly (string | number)[]): string {
  return parts.map((part) => slug(String(part))).join("/");
}
