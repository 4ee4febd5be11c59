/** The questions, split by country: a test question asks about a country that no training question is about. */
import { Rng } from "../../src/rng.ts";
import { holdsWords, slug } from "./clean.ts";
import { type Country, worldSeed } from "./facts.ts";
import { city, fill, fillSentence, relations } from "./relations.ts";

/** The parts of the questions; each country belongs to one. */
export const splits = ["train", "dev", "test"] as const;
/** Name of a part. */
export type Split = (typeof splits)[number];

/** A line of questions.*.jsonl. */
export interface AtlasQuestion {
  readonly id: string;
  readonly question: string;
  readonly golden_answers: readonly string[];
  readonly dataset: "atlas";
  readonly split: Split;
  readonly hops: 1 | 2;
  /** The country asked about; two-hop questions don't name it. */
  readonly entity: string;
  /** Id of the relation asked for. */
  readonly relation: string;
  readonly value: string;
  /** Two-hop: the relation that identifies the country (`city` included), and its value there. */
  readonly bridge?: string;
  readonly bridgeValue?: string;
  /** What a perfect searcher asks, hop by hop. */
  readonly subQueries: readonly string[];
  /** The last sub-query in other words. */
  readonly alternativeSubQuery: string;
}

interface Bridge {
  readonly id: string;
  readonly value: string;
  readonly clause: string;
  readonly subQuery: string;
}

const shares = { train: 0.62, dev: 0.1 } as const;

/** Each country's side of the split: countries in the order of a draw from their names, cut at the shares (the rest is test). */
export function splitCountries(countries: readonly Country[]): Map<string, Split> {
  const draw = (name: string) => Rng.stream(worldSeed, "split", name).uniform();
  const order = countries.map((country) => country.name).sort((left, right) => draw(left) - draw(right));
  const trainEnd = Math.round(shares.train * order.length);
  const devEnd = trainEnd + Math.round(shares.dev * order.length);
  return new Map(order.map((name, place) => [name, place < trainEnd ? "train" : place < devEnd ? "dev" : "test"]));
}

/** Every question of the world: several wordings of each fact, then the two-hop questions that lead to it. */
export function writeQuestions(countries: readonly Country[]): AtlasQuestion[] {
  const sides = splitCountries(countries);
  const owners = new Map<string, number>();
  for (const country of countries) {
    for (const value of [...country.values.values(), ...country.cities]) owners.set(value, (owners.get(value) ?? 0) + 1);
  }
  return countries.flatMap((country) => {
    const bridges = bridgesOf(country).filter(({ value }) => owners.get(value) === 1 && !holdsWords(value, country.name));
    return relations.flatMap((relation) => {
      const value = country.values.get(relation.id);
      if (value === undefined) return [];
      const common = {
        golden_answers: [value],
        dataset: "atlas" as const,
        split: sides.get(country.name) ?? "train",
        entity: country.name,
        relation: relation.id,
        value,
        alternativeSubQuery: fill(relation.alternativeSubQuery, country.name, value),
      };
      const subQuery = fill(relation.subQuery, country.name, value);
      const oneHop = relation.questions.map(
        (template, index): AtlasQuestion => ({
          id: `${slug(country.name)}/${relation.id}/${index + 1}`,
          question: fillSentence(template, country.name, value),
          ...common,
          hops: 1,
          subQueries: [subQuery],
        }),
      );
      const clear = bridges.filter(
        (bridge) => bridge.id !== relation.id && !holdsWords(bridge.value, value) && !holdsWords(value, bridge.value),
      );
      const twoHop = clear.map((bridge): AtlasQuestion => {
        const id = `${slug(country.name)}/${relation.id}/${bridge.id}/${slug(bridge.value)}`;
        const description = `the country ${bridge.clause.replace("{V}", () => bridge.value)}`;
        return {
          id,
          question: fillSentence(Rng.stream(worldSeed, "wording", id).pick(relation.questions), description, value),
          ...common,
          hops: 2,
          bridge: bridge.id,
          bridgeValue: bridge.value,
          subQueries: [bridge.subQuery.replace("{V}", () => bridge.value), subQuery],
        };
      });
      return [...oneHop, ...twoHop];
    });
  });
}

function bridgesOf(country: Country): Bridge[] {
  const byRelation = relations.flatMap(({ id, bridge }) => {
    const value = country.values.get(id);
    return bridge === undefined || value === undefined ? [] : [{ id, value, ...bridge }];
  });
  return [...byRelation, ...country.cities.map((value) => ({ id: "city", value, ...city.bridge }))];
}
