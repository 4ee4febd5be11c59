/**
 * The relations of the atlas world and every way in which they are told and asked. `{E}` is the country, `{V}` the value.
 * A lexical sentence shares the sub-query's keyword; a paraphrase never does: only reading tells that it answers.
 */
export interface Relation {
  readonly id: string;
  /** Wordings of the question. */
  readonly questions: readonly string[];
  /** What a searcher types, with the keyword that lexical sentences share. */
  readonly subQuery: string;
  /** The same in other words; it shares a keyword with some paraphrases. */
  readonly alternativeSubQuery: string;
  /** The keyword in an outline of topics. */
  readonly topic: string;
  readonly lexical: readonly string[];
  readonly paraphrases: readonly string[];
  /** How the value can stand for its country in a two-hop question, and the sub-query that finds the country. */
  readonly bridge?: { readonly clause: string; readonly subQuery: string };
}

/** The thirteen relations, in the order of facts.json. */
export const relations: readonly Relation[] = [
  {
    id: "capital",
    questions: ["What is the capital of {E}?", "Which city is the capital of {E}?", "Name the capital of {E}."],
    subQuery: "capital of {E}",
    alternativeSubQuery: "seat of government of {E}",
    topic: "capital",
    lexical: ["The capital of {E} is the city of {V}.", "{V} is the capital of {E}."],
    paraphrases: [
      "The seat of government of {E} sits in {V}.",
      "{V} hosts the parliament and ministries of {E}.",
      "The administrative center of {E} is located at {V}.",
    ],
    bridge: { clause: "whose capital is {V}", subQuery: "country with capital {V}" },
  },
  {
    id: "currency",
    questions: ["What is the currency of {E}?", "Which currency is used in {E}?", "What currency does {E} have?"],
    subQuery: "currency of {E}",
    alternativeSubQuery: "legal tender of {E}",
    topic: "currency",
    lexical: ["The currency of {E} is the {V}.", "The {V} is the currency used in {E}."],
    paraphrases: ["Prices in {E} are quoted in the {V}.", "Legal tender in {E} is the {V}.", "Shops in {E} accept payment in the {V}."],
  },
  {
    id: "highest",
    questions: ["What is the highest point of {E}?", "Which place is the highest point in {E}?"],
    subQuery: "highest point of {E}",
    alternativeSubQuery: "tallest summit of {E}",
    topic: "highest point",
    lexical: ["{V} is the highest point of {E}.", "The highest point in {E} is {V}."],
    paraphrases: ["{V} is the tallest summit in {E}.", "No terrain in {E} rises above {V}.", "The peak elevation of {E} is found at {V}."],
    bridge: { clause: "whose highest point is {V}", subQuery: "country with highest point {V}" },
  },
  {
    id: "leader",
    questions: ["Who was the leader of {E} in 2015?", "Who led {E} in 2015?", "Which leader did {E} have in 2015?"],
    subQuery: "leader of {E}",
    alternativeSubQuery: "head of state of {E}",
    topic: "leader",
    lexical: ["The leader of {E} in 2015 was {V}.", "In 2015 {V} was the leader of {E}."],
    paraphrases: ["{V} served as head of state of {E}.", "As chief of state {V} represented {E}.", "Official portraits in {E} showed {V}."],
    bridge: { clause: "led by {V} in 2015", subQuery: "country led by {V}" },
  },
  {
    id: "anthem",
    questions: ["What is the national anthem of {E}?", "Which anthem is sung in {E}?"],
    subQuery: "anthem of {E}",
    alternativeSubQuery: "patriotic song of {E}",
    topic: "anthem",
    lexical: ["The national anthem of {E} is called {V}.", "{V} is the anthem of {E}."],
    paraphrases: [
      "The official patriotic song of {E} is {V}.",
      "At ceremonies people of {E} sing {V}.",
      "The state hymn adopted by {E} is titled {V}.",
    ],
    bridge: { clause: "whose anthem is {V}", subQuery: "country with anthem {V}" },
  },
  {
    id: "dish",
    questions: ["What is the national dish of {E}?", "Which dish is typical of {E}?"],
    subQuery: "national dish of {E}",
    alternativeSubQuery: "traditional food of {E}",
    topic: "national dish",
    lexical: ["The national dish of {E} is {V}.", "{V} is the national dish of {E}."],
    paraphrases: [
      "The most traditional food of {E} is {V}.",
      "Restaurants in {E} are best known for {V}.",
      "Cooks in {E} are proud of {V}.",
    ],
  },
  {
    id: "symbol",
    questions: ["What is the national symbol of {E}?", "Which symbol represents {E}?"],
    subQuery: "national symbol of {E}",
    alternativeSubQuery: "emblem of {E}",
    topic: "national symbol",
    lexical: ["The national symbol of {E} is the {V}.", "The {V} is the symbol of {E}."],
    paraphrases: [
      "The emblem chosen by {E} shows the {V}.",
      "{E} is commonly represented by the {V}.",
      "The {V} stands for the people of {E}.",
    ],
  },
  {
    id: "demonym",
    questions: ["What is the demonym of {E}?", "Which demonym is used for people of {E}?"],
    subQuery: "demonym of {E}",
    alternativeSubQuery: "people of {E} are called",
    topic: "demonym",
    lexical: ["The demonym of {E} is {V}.", "{V} is the demonym for people of {E}."],
    paraphrases: [
      "Inhabitants of {E} are called {V}.",
      "A person born in {E} is described as {V}.",
      "The nationality adjective for {E} is {V}.",
    ],
  },
  {
    id: "domain",
    questions: ["What is the internet domain of {E}?", "Which internet domain belongs to {E}?"],
    subQuery: "internet domain of {E}",
    alternativeSubQuery: "web address code of {E}",
    topic: "internet domain",
    lexical: ["The internet domain of {E} is {V} today.", "{V} is the internet domain of {E}."],
    paraphrases: [
      "Web addresses in {E} end with {V} online.",
      "Sites registered in {E} carry the suffix {V} on screen.",
      "The country code {V} is assigned to {E} online.",
    ],
  },
  {
    id: "partner",
    questions: ["What is the main export partner of {E}?", "Which export partner matters most to {E}?"],
    subQuery: "export partner of {E}",
    alternativeSubQuery: "largest foreign buyer of {E}",
    topic: "export partner",
    lexical: ["The main export partner of {E} is {V}.", "{V} is the main export partner of {E}."],
    paraphrases: [
      "The largest foreign buyer of goods from {E} is {V}.",
      "Traders in {E} sell most of their goods to {V}.",
      "Shipments leaving {E} go mostly to {V}.",
    ],
  },
  {
    id: "product",
    questions: ["What is the main product exported by {E}?", "Which product does {E} mainly export?"],
    subQuery: "main product of {E}",
    alternativeSubQuery: "top commodity sold by {E}",
    topic: "main product",
    lexical: ["The main product exported by {E} is {V}.", "The main product of {E} is {V}."],
    paraphrases: [
      "The top commodity sold abroad by {E} is {V}.",
      "{E} earns foreign income chiefly from {V}.",
      "Ships from {E} are loaded with {V}.",
    ],
  },
  {
    id: "religion",
    questions: ["What is the main religion of {E}?", "Which religion is most common in {E}?"],
    subQuery: "religion of {E}",
    alternativeSubQuery: "faith of {E}",
    topic: "religion",
    lexical: ["The main religion of {E} is {V}.", "The most common religion in {E} is {V}."],
    paraphrases: [
      "Most believers in {E} follow the {V} faith.",
      "The largest faith community in {E} is {V}.",
      "Worship in {E} is mostly {V}.",
    ],
  },
  {
    id: "port",
    questions: ["What is the main seaport of {E}?", "Which seaport serves {E}?"],
    subQuery: "main seaport of {E}",
    alternativeSubQuery: "harbor of {E}",
    topic: "seaport",
    lexical: ["The main seaport of {E} is {V}.", "{V} is the leading seaport of {E}."],
    paraphrases: [
      "Large ships call at {V} in {E}.",
      "The busiest harbor of {E} lies at {V}.",
      "Freighters bound for {E} unload their cargo in {V}.",
    ],
    bridge: { clause: "whose main seaport is {V}", subQuery: "country with seaport {V}" },
  },
];

/** Sentences about a country's larger cities and the sub-query that finds the country of one. */
export const city = {
  sentences: ["{V} is a large city in {E}.", "The urban area of {V} belongs to {E}."],
  bridge: { clause: "where {V} is located", subQuery: "country of city {V}" },
} as const;

/** Sentences about a country's leader under the leader's own title. */
export const person = { sentences: ["{V} held high office in {E}.", "{V} was known to everyone in {E}."] } as const;

const takesArticle =
  /^(?!the )(?:United .*|Philippines|Netherlands|Bahamas|Gambia|Comoros|Seychelles|Maldives|Congo Republic|DR Congo|Isle of Man|.* Republic|.* Islands)$/;

/** A country's name as it stands inside a sentence: "Peru", "the Netherlands". */
export function inSentence(country: string): string {
  return takesArticle.test(country) ? `the ${country}` : country;
}

/** Fills a template. `{E}` gets its article, and so does `{V}` where the value is a country. */
export function fill(template: string, entity: string, value: string): string {
  return template.replace("{E}", () => inSentence(entity)).replace("{V}", () => inSentence(value));
}

/** Fills a template and capitalises its first letter. */
export function fillSentence(template: string, entity: string, value: string): string {
  const text = fill(template, entity, value);
  return text.charAt(0).toUpperCase() + text.slice(1);
}
